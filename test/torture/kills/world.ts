import { rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type FixturePlugin, writeFixtureRepository } from '../../helpers/fixture-repository.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'

/** What the hosts that are killed install from. */

export const shortIds = ['one', 'two', 'three', 'four'] as const
export type ShortId = (typeof shortIds)[number]

/** Its `onInit` raises: an update to it goes back by itself. */
export const brokenVersion = '6.6.6'
/** One more than are kept beside the present one. */
export const versions = ['1.0.0', '2.0.0', '3.0.0', '4.0.0', '5.0.0', brokenVersion] as const

export const namespace = 'kill'

function fixture(id: string, version: string): FixturePlugin {
  const begin =
    version === brokenVersion
      ? 'error("broken on purpose")'
      : `local count = (plugin:kvGet("count") or { n = 0 }).n
  plugin:upsertObject("seen", { n = count })
  plugin:setInterval(20, function()
    count = count + 1
    plugin:kvSet("count", { n = count, twice = count * 2, text = string.rep("x", count % 400) })
  end)`
  return {
    id,
    version,
    lua: `-- version ${version}
local plugin = Plugin:new("${id}")
plugin:onInit(function()
  ${begin}
end)
`,
    manifest: { docs: [{ title: 'Read me', file: 'README.md' }] },
    files: { 'README.md': `version ${version}` },
  }
}

export interface World {
  /** A repository for each plugin, as `.host.json` has them. */
  repositories: { name: string; url: string }[]
  /** Addresses of repositories that nothing is installed from. */
  others: string[]
  /** Which version the plugin's repository has from now on. */
  offer(id: ShortId, version: string): Promise<void>
}

/** Which version a repository offers is a link that changes at once. */
export async function createWorld(context: TestContext): Promise<World> {
  const directory = await temporaryDirectory(context)
  const repositories = await Promise.all(
    shortIds.map(async (id) => {
      for (const version of versions) {
        await writeFixtureRepository(join(directory, id, version), [fixture(id, version)], namespace)
      }
      await symlink(join(directory, id, versions[0]), join(directory, id, 'current'))
      return { name: id, url: join(directory, id, 'current') }
    }),
  )
  const others = ['left', 'right'].map((name) => join(directory, name))
  for (const other of others) {
    await writeFixtureRepository(other, [{ id: 'unused', lua: '' }], 'elsewhere')
  }
  return {
    repositories,
    others,
    async offer(id, version) {
      const link = join(directory, id, 'next')
      await symlink(join(directory, id, version), link)
      await rename(link, join(directory, id, 'current'))
    },
  }
}
