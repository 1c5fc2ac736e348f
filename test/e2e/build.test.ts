import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import * as modules from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

const root = join(import.meta.dirname, '..', '..')
const part = 'worker'
const source = 'src/sandbox/worker/main.ts'
const result = 'dist/worker.js'

/** A copy of what the build needs, old enough to have been written before it. */
async function checkout(context: Parameters<typeof temporaryDirectory>[0]) {
  const folder = await temporaryDirectory(context)
  for (const name of ['package.json', 'package-lock.json', 'tsconfig.json', 'scripts', 'src', 'machines'])
    cpSync(join(root, name), join(folder, name), { recursive: true, preserveTimestamps: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const at = (path: string): string => join(folder, path)
  return {
    build: (name = part) =>
      spawnSync(process.execPath, [at('scripts/build.mjs'), name], { cwd: '/', encoding: 'utf8' }),
    start: (...flags: string[]) =>
      spawnSync(process.execPath, [at('scripts/start.mjs'), ...flags], { cwd: folder, encoding: 'utf8' }),
    files: (path: string) => readdirSync(at(path)),
    builtAt: (path: string) => statSync(at(path)).mtimeMs,
    text: (path: string) => readFileSync(at(path), 'utf8'),
    write: (path: string, text: string) => writeFileSync(at(path), text),
    append: (path: string, text: string) => writeFileSync(at(path), text, { flag: 'a' }),
    remove: (path: string) => rmSync(at(path)),
    touch: (path: string) => utimesSync(at(path), new Date(), new Date()),
    built: () => statSync(at(result), { throwIfNoEntry: false })?.mtimeMs,
  }
}

test('a build is made again when something has changed of which it was made, and only then', async (t) => {
  const copy = await checkout(t)
  const buildsAnew = (change: () => void): boolean => {
    const before = copy.built()
    change()
    assert.equal(copy.build().status, 0)
    return copy.built() !== before
  }
  assert.ok(
    buildsAnew(() => undefined),
    'the first time',
  )
  const cases: [what: string, change: () => void, isBuilt: boolean][] = [
    ['nothing has changed', () => undefined, false],
    ['a source is touched', () => copy.touch(source), false],
    ['a source has changed', () => copy.append(source, "post({ kind: 'ready' })\n"), true],
    ['nothing has changed since', () => undefined, false],
    ['other packages are locked', () => copy.append('package-lock.json', '\n'), true],
    ['an option of the build has changed', () => copy.append('src/sandbox/worker/esbuild.json', '\n'), true],
    ['a result has gone', () => copy.remove('dist/worker.cache'), true],
    ['a result is another', () => copy.append(result, ' '), true],
    ['the stamp cannot be read', () => copy.write('dist/worker.stamp', '{'), true],
    [
      'another Node has built it',
      () =>
        copy.write('dist/worker.stamp', copy.text('dist/worker.stamp').replace(process.version, 'v18.0.0')),
      true,
    ],
  ]
  for (const [what, change, isBuilt] of cases) {
    assert.equal(buildsAnew(change), isBuilt, what)
  }
})

test('a build that fails says why, and counts as none', async (t) => {
  const copy = await checkout(t)
  assert.equal(copy.build().status, 0)
  copy.append(source, 'const = 1\n')
  for (let again = 0; again < 2; again += 1) {
    const { status, stderr } = copy.build()
    assert.equal(status, 1)
    assert.match(stderr, /main\.ts:\d+/)
  }
})

test('what a host that runs may load yet stays at the next build, and goes with the one after it', async (t) => {
  const copy = await checkout(t)
  const lazy = 'src/http/answers/rendered-document.ts'
  const chunk = (): string => {
    const name = copy
      .files('dist')
      .find((file) => /^rendered-document-\w+\.js$/.test(file) && !seen.has(file))
    assert.ok(name)
    seen.add(name)
    return name
  }
  const seen = new Set<string>()
  const chunks: string[] = []
  for (const round of ['one', 'two', 'three']) {
    copy.append(lazy, `export const added_${round} = '${round}'\n`)
    assert.equal(copy.build('main').status, 0)
    chunks.push(chunk())
  }
  const files = copy.files('dist')
  assert.deepEqual(
    chunks.map((name) => files.includes(name)),
    [false, true, true],
  )
})

test('the host is started as soon as all parts are what their sources give, and not when one cannot be built', async (t) => {
  const copy = await checkout(t)
  const { version } = JSON.parse(copy.text('package.json')) as { version: string }
  const started = () => {
    const { status, stdout } = copy.start('--version')
    const built = ['dist/main.js', 'dist/worker.js', 'dist/web/main.js'].map(copy.builtAt)
    return { status, stdout, built }
  }
  const first = started()
  assert.deepEqual([first.status, first.stdout], [0, `${version}\n`])
  assert.deepEqual(started(), first)
  copy.append('src/main.ts', '\n// Changed.\n')
  const second = started()
  assert.deepEqual([second.status, second.stdout], [0, `${version}\n`])
  assert.ok(second.built[0] !== first.built[0])
  assert.deepEqual(second.built.slice(1), first.built.slice(1))
  copy.append('src/main.ts', 'const = 1\n')
  const broken = copy.start('--version')
  assert.deepEqual([broken.status, broken.stdout], [1, ''])
  assert.match(broken.stderr, /main\.ts:\d+/)
})

test('what Node has compiled of the program is kept for the next start, until the program is another', async (t) => {
  const copy = await checkout(t)
  const kept = 'compile-cache'
  const isKept = () => copy.files('dist').includes(kept)
  assert.equal(copy.build('main').status, 0)
  assert.equal(copy.start('--version').status, 0)
  assert.equal(isKept(), 'enableCompileCache' in modules)
  copy.append('src/main.ts', '\n// Changed.\n')
  assert.equal(copy.build('main').status, 0)
  assert.equal(isKept(), false)
  // Nobody can keep anything there.
  copy.write(join('dist', kept), '')
  const { status, stderr } = copy.start('--version')
  assert.deepEqual([status, stderr], [0, ''])
})

test('a part that does not exist cannot be built', async (t) => {
  const copy = await checkout(t)
  const { status, stderr } = copy.build('nothing')
  assert.deepEqual(
    [status, stderr],
    [2, 'There is no part nothing: name main, worker, web, or none for all.\n'],
  )
})
