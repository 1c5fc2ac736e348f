import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { silentLogger } from '../../../src/base/log/log.ts'
import { fold, initialPlugin, initialState } from '../../../src/journal/fold/evolve.ts'
import type { LifecycleContext } from '../../../src/lifecycle/context.ts'
import { createManifests } from '../../../src/lifecycle/manifests/manifests.ts'
import { matchFilesToJournal, readAhead } from '../../../src/lifecycle/sources/match-files.ts'
import type { PluginDirectory } from '../../../src/repository/repository.ts'
import type { Integrity } from '../../../src/schema/journal/journal-event.ts'
import { clockPlugin, createStage, writeTree } from '../../repository/repository-fixture.ts'

const id = clockPlugin.fullId
const folder = 'plugins/test--clock'
const files = {
  'plugin.json': JSON.stringify({ id: 'clock', name: 'Clock', version: '1.0.0' }),
  'init.lua': '-- as installed',
}

/** A plugin on disk, with what its directory is asked; `installed`: the files that the journal names. */
async function stage(context: TestContext) {
  const { directory, plugins } = await createStage(context)
  await writeTree(join(directory, folder), files)
  const asked: string[] = []
  const watched = new Proxy(plugins, {
    get(target, name: keyof PluginDirectory) {
      return (...given: unknown[]): unknown => {
        asked.push(name)
        return Reflect.apply(target[name], target, given)
      }
    },
  })
  const state = (integrity: Integrity) => {
    const plugin = initialPlugin(id)
    const context = { ...plugin.context, version: '1.0.0', integrity }
    return { ...fold([], initialState()), plugins: new Map([[id, { ...plugin, context }]]) }
  }
  const { integrity } = await plugins.read(clockPlugin)
  const journal = { live: state(integrity) }
  const lifecycle = {
    journal,
    directory: watched,
    manifests: createManifests(plugins, silentLogger),
    logger: silentLogger,
    unverifiedFiles: new Set(),
  } as unknown as LifecycleContext
  return {
    lifecycle,
    asked,
    edit: (text: string) => writeFile(join(directory, folder, 'init.lua'), text),
    /** The journal names other files from now on. */
    name: async () => void (journal.live = state((await plugins.read(clockPlugin)).integrity)),
  }
}

const textOf = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString()

test('files that are those of the journal are read once, and handed on with their manifest known', async (context) => {
  const { lifecycle, asked } = await stage(context)
  const { matches, installed } = await matchFilesToJournal(lifecycle, id)
  assert.equal(matches, true)
  assert.equal(textOf(installed?.files['init.lua']), files['init.lua'])
  assert.equal(lifecycle.manifests.get(id), installed?.manifest)
  assert.deepEqual(asked.sort(), ['read', 'settle'])
})

test('files that were read ahead are not read again', async (context) => {
  const { lifecycle, asked } = await stage(context)
  const { installed } = await matchFilesToJournal(lifecycle, id, { ahead: readAhead(lifecycle, id) })
  assert.equal(textOf(installed?.files['init.lua']), files['init.lua'])
  assert.deepEqual(asked.sort(), ['read', 'settle'])
})

test('what was read ahead of an update is not taken for the files of the journal', async (context) => {
  const { lifecycle, edit, name } = await stage(context)
  const ahead = readAhead(lifecycle, id)
  await ahead
  await edit('-- of the update')
  await name()
  assert.deepEqual(await matchFilesToJournal(lifecycle, id, { ahead }), { matches: true })
})

test('files that somebody has edited are no other version, and are not handed on as those of the journal', async (context) => {
  const { lifecycle, edit } = await stage(context)
  await edit('-- by hand')
  assert.deepEqual(await matchFilesToJournal(lifecycle, id), { matches: true })
  assert.equal(lifecycle.manifests.get(id)?.version, '1.0.0')
})
