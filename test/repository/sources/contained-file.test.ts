import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readContainedFile } from '../../../src/repository/sources/contained-file.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { writeTree } from '../repository-fixture.ts'

const content = 'content'

async function stage(context: TestContext) {
  const directory = await temporaryDirectory(context)
  const root = join(directory, 'root')
  const tree = { 'root/a': content, 'root/sub/b': content, outside: 'canary', 'root-beside/c': 'canary' }
  await writeTree(directory, tree)
  const read = async (path: string, limit = content.length) =>
    String(Buffer.from(await readContainedFile(root, path, limit)))
  return { root, read }
}

test('a file is read through links that stay inside its folder, and no link leads out of it', async (context) => {
  const { root, read } = await stage(context)
  const links = { in: 'sub/b', 'sub/in': '../a', out: '../outside', 'sub/out': '../../outside' }
  for (const [path, target] of Object.entries(links)) await symlink(target, join(root, path))
  await symlink('../root-beside/c', join(root, 'beside'))
  await symlink('../root-beside', join(root, 'folder'))
  for (const path of ['a', 'sub/b', 'in', 'sub/in']) assert.equal(await read(path), content)
  for (const path of ['out', 'sub/out', 'beside', 'folder/c'])
    await assert.rejects(read(path), /^FileRefused: is a link that leads out of the directory$/, path)
  for (const path of ['../outside', 'sub/../../outside', '..', '/etc/hostname'])
    await assert.rejects(read(path), /^FileRefused: is not a path inside the directory$/, path)
})

test('what is no file is refused at once, and so is one that is too large', async (context) => {
  const { root, read } = await stage(context)
  await mkdir(join(root, 'folder'))
  for (const path of ['pipe', 'sub/pipe']) execFileSync('mkfifo', [join(root, path)])
  for (const path of ['folder', 'pipe', 'sub/pipe'])
    await assert.rejects(read(path), /^FileRefused: is not a file$/, path)
  await assert.rejects(read('a', content.length - 1), /^FileRefused: is larger than 6 bytes$/)
})
