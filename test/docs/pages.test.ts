import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { definitions } from '../../src/settings/definitions.ts'

/** What the pages say about files, commands and settings is so. */

const root = join(import.meta.dirname, '..', '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** Made by whoever follows the page, or runs what it says. */
const madeLater = /^(bench\/results|docker\/secrets\/)/

const folders = ['bench', 'docker', 'docs', 'machines', 'repository', 'scripts', 'src', 'test']
const files = [
  ...readdirSync(root).filter((name) => name.endsWith('.md') || name === 'docker-compose.yml'),
  ...folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  ),
]
// A starter plugin's page is read where the plugin is installed, too.
const pages = files.filter((file) => file.endsWith('.md') && !file.startsWith('repository'))
const sources = files.filter((file) => /^(src|test|machines)\b.*\.tsx?$/.test(file))

/** As the pages are shown: lower case, without punctuation, blanks as hyphens. */
function anchorsOf(page: string): string[] {
  const headings = read(page)
    .replaceAll(/^```.*?^```/gms, '')
    .matchAll(/^#+ (.*)$/gm)
  return [...headings].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test('every link from a page to another, or to a part of one, leads somewhere', () => {
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
      .filter(([, path = '', anchor]) => {
        const target = path === '' ? page : relative(root, join(root, dirname(page), path))
        if (!existsSync(join(root, target))) return true
        return anchor !== undefined && !anchorsOf(target).includes(anchor)
      })
      .map(([link]) => `${page}: ${link}`),
  )
  assert.deepEqual(broken, [])
})

test('every page of docs/ can be reached from the README', () => {
  const linked = [...read('README.md').matchAll(/\]\((docs\/[^)#]+\.md)/g)].map(([, path]) => path)
  const unlinked = pages.filter((page) => page.startsWith('docs/') && !linked.includes(page))
  assert.deepEqual(unlinked, [])
})

test('every file that a page or a comment names is there', () => {
  // In a page also without backticks: the drawings name files.
  const named = (file: string): RegExp =>
    file.endsWith('.md')
      ? /(?<![\w*@./-])((?:[\w@.-]+\/)*[\w.-]+\.(?:tsx?|mjs|md))\b/g
      : /`([\w@.-]+(?:\/[\w@.-]+)*\.(?:tsx?|mjs|md))`/g
  const missing = [...pages, ...sources].flatMap((file) =>
    [...read(file).matchAll(named(file))]
      .map(([, name = '']) => name.replace(/^(?:\.\.?\/)+/, ''))
      .filter((name) => !files.some((known) => known === name || known.endsWith(`/${name}`)))
      .map((name) => `${file}: ${name}`),
  )
  assert.deepEqual(missing, [])
})

test('every folder and file that a page names by its whole path is there', () => {
  const missing = pages.flatMap((page) =>
    [...read(page).matchAll(new RegExp(`(?<![\\w./-])((?:${folders.join('|')})/[\\w@./-]*)`, 'g'))]
      .map(([, path = '']) => path.replace(/[./]+$/, ''))
      .filter((path) => !madeLater.test(path) && !existsSync(join(root, path)))
      .map((path) => `${page}: ${path}`),
  )
  assert.deepEqual(missing, [])
})

test('every script that a page tells to run is in package.json', () => {
  const { scripts } = JSON.parse(read('package.json'))
  const missing = pages.flatMap((page) =>
    [...read(page).matchAll(/\bnpm run ([\w:-]+)/g)]
      .map(([, script = '']) => script)
      .filter((script) => !(script in scripts))
      .map((script) => `${page}: npm run ${script}`),
  )
  assert.deepEqual(missing, [])
})

test('docs/settings.md has every setting, and no page has another', () => {
  const known: string[] = Object.values(definitions).map(({ variable }) => variable)
  const named = (page: string): string[] =>
    [...read(page).matchAll(/\bHOST_[A-Z][A-Z_]*[A-Z]\b/g)].map(String)
  assert.deepEqual(
    known.filter((variable) => !named('docs/settings.md').includes(variable)),
    [],
  )
  assert.deepEqual(
    pages.flatMap(named).filter((variable) => !known.includes(variable)),
    [],
  )
})

test('what docker-compose.yml takes from the environment is on the page, the processors included: Docker refuses more than there are', () => {
  const taken = [...read('docker-compose.yml').matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name = '']) => name)
  assert.deepEqual(taken, ['LUPINE_CPUS'])
  assert.deepEqual(
    taken.filter((name) => !read('docs/operation.md').includes(name)),
    [],
  )
})

test('the unit for systemd goes on trying: by itself systemd gives a service up after five starts in ten seconds', () => {
  const [, unit = ''] = /```ini\n(\[Unit\][^`]*)```/.exec(read('docs/operation.md')) ?? []
  const seconds = Number(/^RestartSec=(\d+)$/m.exec(unit)?.[1] ?? 0.1)
  const [starts, window] = [5, 10]
  assert.match(unit, /^Restart=on-failure$/m)
  assert.ok(starts * seconds > window, `RestartSec is ${seconds}`)
})

test('a folder in which a command of a page makes a file is made before: "lupine secret-key" and "lupine token" make none', () => {
  const blocks = pages.flatMap((page) =>
    [...read(page).matchAll(/^ *```sh\n(.*?)^ *```/gms)].map(([, text = '']) => ({ page, text })),
  )
  const makers = blocks.flatMap(({ page, text }) =>
    [...text.matchAll(/(?:--secret-key-file|--token-file|\/dev\/stdin) (\/\S+)\/[\w.-]+/g)].map(
      ({ 1: folder = '', index }) => ({ page, folder, before: text.slice(0, index) }),
    ),
  )
  assert.ok(makers.length > 1)
  assert.deepEqual(
    makers
      .filter(
        ({ folder, before }) => !new RegExp(`^(?:mkdir|install -d)\\b.* ${folder}(?=\\s)`, 'm').test(before),
      )
      .map(({ page, folder }) => `${page}: ${folder}`),
    [],
  )
})
