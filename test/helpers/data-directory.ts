import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { writeFixtureRepository } from './fixture-repository.ts'
import { temporaryDirectory } from './temporary-directory.ts'

/** A data directory with which a host starts `@fixtures/x`. `lua`: what follows `local p = Plugin:new("x")`. */
export async function directoryWithPlugin(context: TestContext, lua: string): Promise<string> {
  const directory = await temporaryDirectory(context)
  const repository = join(await temporaryDirectory(context), 'repository')
  await writeFixtureRepository(repository, [{ id: 'x', lua: `local p = Plugin:new("x")\n${lua}` }])
  const file = {
    repositories: [{ name: 'fixtures', url: repository }],
    plugins: { installed: [{ id: '@fixtures/x', enabled: true, config: {} }] },
  }
  await writeFile(join(directory, '.host.json'), JSON.stringify(file))
  return directory
}
