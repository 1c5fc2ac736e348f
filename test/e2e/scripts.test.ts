import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

const root = join(import.meta.dirname, '..', '..')

/** A program of this project that is called wrongly: its last line, and how it ended. */
function run(...line: string[]): { status: number | null; stderr: string } {
  const loader = line[0]?.endsWith('.ts') ? ['--import', 'tsx'] : []
  const { status, stderr } = spawnSync(process.execPath, [...loader, ...line], {
    cwd: root,
    encoding: 'utf8',
  })
  return { status, stderr }
}

const wrong: [line: string[], status: number, sentence: RegExp][] = [
  [['scripts/index-repository.mjs', 'no-such-folder'], 1, /^There is no folder no-such-folder\n$/],
  [['scripts/index-repository.mjs', '--dry'], 1, /^--dry is not known; there is only --check\n$/],
  [['scripts/index-repository.mjs', 'package.json'], 1, /^.*package\.json.*\n$/],
  [['scripts/test.mjs', 'no-such.test.ts'], 2, /^There is no no-such\.test\.ts: .*\n$/],
  [['bench/main.ts', '--mqtt', 'many'], 2, /^--mqtt, --http and --minutes must be numbers above 0\. .*\n$/],
  [['bench/main.ts', '--nonsense'], 2, /^.*--nonsense.*\n$/],
  [['bench/journal.ts', 'x'], 2, /^How many events\? .*\n$/],
]

for (const [line, status, sentence] of wrong) {
  test(`${line.join(' ')} ends with a sentence`, () => {
    const ended = run(...line)
    assert.equal(ended.status, status)
    assert.match(ended.stderr, sentence)
  })
}

test('a repository whose files are not there, or no manifests, cannot be indexed, and the file is named', async (t) => {
  const folder = await temporaryDirectory(t)
  await mkdir(join(folder, 'lamp'))
  const index = (manifest: unknown): Promise<void> =>
    writeFile(join(folder, 'lamp', 'plugin.json'), JSON.stringify(manifest))
  for (const [manifest, sentence] of [
    [{ id: 'lamp' }, /^\S*lamp\/init\.lua cannot be read \(ENOENT\); its plugin\.json names it\n$/],
    [{ id: 'lamp', files: [], docs: ['a.md'] }, /^\S*lamp\/a\.md cannot be read .*\n$/],
    [null, /^\S*lamp\/plugin\.json is no manifest: .*\n$/],
    [{ id: 'lamp', files: 'init.lua' }, /^\S*lamp\/plugin\.json is no manifest: .*\n$/],
  ] as const) {
    await index(manifest)
    const { status, stderr } = run('scripts/index-repository.mjs', folder)
    assert.equal(status, 1)
    assert.match(stderr, sentence)
  }
})
