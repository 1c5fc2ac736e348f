import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/** What docs/operation.md tells git is tried in a clone whose `.host.json` both sides have changed. */

const run = promisify(execFile)
const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'operation.md'), 'utf8')

const commandsOf = (pattern: RegExp): string => pattern.exec(page)?.[1] ?? assert.fail(String(pattern))
const hideFromGit = commandsOf(/`(git update-index --skip-worktree [^`]+)`/)
const pullAnyway = commandsOf(/Where git refuses.*?```sh\n(.*?)```/s)

for (const [title, before] of [
  ['was hidden from git, as the page says', hideFromGit],
  ['is shown as changed', 'true'],
] as const) {
  test(`a clone whose .host.json ${title} gets a new version that has changed it, too, and keeps its own`, async (t) => {
    const directory = await temporaryDirectory(t)
    const [origin, clone] = [join(directory, 'origin'), join(directory, 'clone')]
    const shell = (folder: string, commands: string): Promise<{ stdout: string }> =>
      run('sh', ['-ec', commands], {
        cwd: folder,
        env: {
          PATH: process.env.PATH,
          HOME: directory,
          GIT_CONFIG_NOSYSTEM: '1',
          GIT_AUTHOR_NAME: 'a',
          GIT_AUTHOR_EMAIL: 'a@example.com',
          GIT_COMMITTER_NAME: 'a',
          GIT_COMMITTER_EMAIL: 'a@example.com',
        },
      })
    const release = async (version: string): Promise<void> => {
      for (const file of ['.host.json', 'program']) await writeFile(join(origin, file), version)
      await shell(origin, `git add . && git commit --quiet --message ${version}`)
    }
    await shell(directory, 'git init --quiet origin')
    await release('first')
    await shell(directory, 'git clone --quiet origin clone')
    await writeFile(join(clone, '.host.json'), 'mine')
    await shell(clone, before)
    await release('second')
    await assert.rejects(shell(clone, 'git pull'), /\.host\.json/)

    await shell(clone, pullAnyway)
    const contents = ['.host.json', 'program'].map((file) => readFile(join(clone, file), 'utf8'))
    const { stdout: status } = await shell(clone, 'git status --porcelain')
    assert.deepEqual([...(await Promise.all(contents)), status], ['mine', 'second', ''])
  })
}
