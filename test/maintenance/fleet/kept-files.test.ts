import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemFileSystem } from '../../../src/base/files/file-system.ts'
import { readKept } from '../../../src/maintenance/fleet/kept-files.ts'
import { integrityOf } from '../../../src/repository/directories/plugin-directory.ts'
import { pluginPlaces } from '../../../src/repository/directories/plugin-swap.ts'
import { directoryName, identifierOf } from '../../../src/schema/names/identifier.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'

/** Versions that were replaced have the same names of files, and the folder of one may have been changed by hand. */

const plugin = '@acme/lamp'

/** What a version of it consists of. */
const release = (text: string) => {
  const content = new Map([['init.lua', Buffer.from(text)]])
  return { integrity: integrityOf(content) }
}

test('kept versions are found by what is in their files, and what is none of them is left out', async (context) => {
  const directory = await temporaryDirectory(context)
  const { previous, older } = pluginPlaces(directory)
  const name = directoryName(identifierOf(plugin))
  const folders = {
    second: join(previous, name),
    first: join(older, name, '1'),
    changed: join(older, name, '2'),
  }
  for (const [text, folder] of Object.entries(folders)) {
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'init.lua'), text)
  }
  const kept = ['first', 'second', 'third'].map(release)
  const found = await readKept({ directory, files: systemFileSystem }, plugin, kept)
  assert.deepEqual(
    found.map((content) => Buffer.from(content).toString()),
    ['first', 'second'],
  )
})
