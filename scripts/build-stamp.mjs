// Whether a part of the build is what its sources give. A stamp beside it names what it was made of and every file
// that it has, with size, times and a hash: where size and times are as they were nothing is read.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'

/** What can be built by itself. */
export const partNames = ['main', 'worker', 'web']

/** Files that all parts depend on, whether or not they are there. */
const common = [
  ...[
    'package.json',
    'package-lock.json',
    'node_modules/.package-lock.json',
    'node_modules/esbuild/package.json',
  ],
  ...['scripts/build.mjs', 'scripts/build-stamp.mjs', 'scripts/fengari-for-worker.mjs'],
  ...['tsconfig.json', 'src/web/tsconfig.json'],
  ...['src/web/esbuild.json', 'src/sandbox/worker/esbuild.json'],
]
/** Compiled code is of no use to another version. */
const platform = `${process.version} ${process.arch}`

/** Of packages only the description is looked at, which names the version: their files are half of all that is read. */
const sourceOf = (path) => path.replace(/(^.*node_modules\/(?:@[^/]+\/)?[^/]+).*/, '$1/package.json')

const stampOf = (part) => `dist/${part}.stamp`

function looks(path) {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? null : `${found.size} ${found.mtimeMs} ${found.ctimeMs}`
}

function hash(path) {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('base64')
  } catch {
    return null
  }
}

function readStamp(part) {
  try {
    return JSON.parse(readFileSync(stampOf(part), 'utf8'))
  } catch {
    return undefined
  }
}

function saveStamp(part, stamp) {
  const temporary = `${stampOf(part)}.${process.pid}.tmp`
  writeFileSync(temporary, JSON.stringify(stamp))
  renameSync(temporary, stampOf(part))
}

/** Files that parts have in common are looked at once. */
const seen = new Map()

function looksOnce(path) {
  if (!seen.has(path)) seen.set(path, looks(path))
  return seen.get(path)
}

export function isFresh(part) {
  const stamp = readStamp(part)
  if (stamp?.platform !== platform) return false
  let isChanged = false
  for (const file of stamp.files) {
    const now = looksOnce(file.path)
    if (now === file.looks) continue
    if (hash(file.path) !== file.hash) return false
    // Copied, checked out again or touched: only looked at the next time.
    file.looks = now
    isChanged = true
  }
  if (isChanged) saveStamp(part, stamp)
  return true
}

/** The time at which a build begins, by the clock of the file system. */
export function fileSystemTime(part) {
  const marker = `${stampOf(part)}.${process.pid}.tmp`
  mkdirSync('dist', { recursive: true })
  writeFileSync(marker, '')
  const { mtimeMs } = statSync(marker)
  rmSync(marker)
  return mtimeMs
}

/**
 * `began`: when the build had read nothing yet. Files of the build before this one stay, because a host that runs may
 * load them yet; those of builds before it are removed.
 */
export function writeStamp(part, began, inputs, outputs) {
  const last = readStamp(part)
  const former = (last?.outputs ?? []).filter((path) => !outputs.includes(path))
  for (const path of last?.former ?? []) {
    if (!outputs.includes(path) && !former.includes(path)) rmSync(path, { force: true })
  }
  const all = new Set([...common, ...inputs.map(sourceOf), ...outputs])
  const files = [...all].map((path) => ({ path, looks: looks(path), hash: hash(path) }))
  const isTouched = [...common, ...inputs].some((path) => {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined) return inputs.includes(path)
    return Math.max(found.mtimeMs, found.ctimeMs) >= began
  })
  // What was written to while it was read may have been read before.
  if (isTouched) rmSync(stampOf(part), { force: true })
  else saveStamp(part, { platform, outputs, former, files })
}
