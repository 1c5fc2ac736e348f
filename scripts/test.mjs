// Runs the tests with node:test through tsx: the short ones, with `--long` those that are long for their own sake
// (`*.long.test.ts`: kills, floods, endurance), or the files and folders named on the command line. With
// `--except=test/fuzz,…` those that begin so are left out, with `--only=…` all others. Other flags are for Node.
// Node 20 takes no glob patterns, so the files are listed here.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const isLongRun = process.argv.includes('--long')
const ownFlags = /^--long$|^--(except|only)=/
const flags = process.argv.slice(2).filter((argument) => argument.startsWith('-') && !ownFlags.test(argument))
const startsIn = (flag) =>
  process.argv.flatMap((argument) =>
    argument.startsWith(`--${flag}=`) ? argument.slice(flag.length + 3).split(',') : [],
  )
const except = startsIn('except')
const only = startsIn('only')
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('-'))
const reporter = fileURLToPath(new URL('failed-files-reporter.mjs', import.meta.url))
const stallReport = new URL('stall-report.mjs', import.meta.url).href

/** More files with failures than these are no accident of a busy machine. One that several test files share counts once. */
const mostFilesAgain = 3

/**
 * As the container and the systemd unit of the operation page set it. Without it glibc takes a freed buffer of 16 MB as
 * a reason to keep as much in each of its arenas from then on, and what a test measures is what glibc keeps.
 */
const memoryEnvironment = { MALLOC_MMAP_THRESHOLD_: String(256 * 1024) }

function testFiles(path) {
  if (!existsSync(path)) {
    console.error(`There is no ${path}: name files or folders with tests.`)
    process.exit(2)
  }
  if (statSync(path).isFile()) return [path]
  return readdirSync(path, { recursive: true })
    .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
    .map((name) => join(path, name))
    .sort()
}

/** What a file may not share with another: hooks around each test, settings of the process and of V8, a measure of it. */
const needsOwnProcess =
  /^(before|after)Each\(|\bmock\.|\bprocess\.(umask|memoryUsage|getActiveResourcesInfo|on)\b|collectGarbage|cachedDataRejected/m
/** Test files that share a process at most: to load the host takes longer than most of them. */
const filesInOneProcess = 20
/** The same at least, as far as there are so many. */
const fewestInOneProcess = 6
/** Tests wait for timers and disks, too: so many processes keep two cores busy. */
const processesAtOnce = 3

/** A test file with what it takes from its own folder. */
function textOf(file) {
  const text = readFileSync(file, 'utf8')
  const parts = [...text.matchAll(/ from '\.\/([^']+)'/g)].map(([, name]) => join(dirname(file), name))
  return [text, ...parts.map((part) => readFileSync(part, 'utf8'))].join('\n')
}

/** Those that measure how long others wait. Two of them side by side measure each other; most of the rest waits itself. */
const isMeasuring = (file) => file.startsWith('test/hostile/')

/** The measuring ones, spread evenly among the rest. */
function interleaved(files) {
  const placesOf = (some) => some.map((file, index) => ({ file, place: (index + 0.5) / some.length }))
  return [...placesOf(files.filter(isMeasuring)), ...placesOf(files.filter((file) => !isMeasuring(file)))]
    .sort((left, right) => left.place - right.place)
    .map(({ file }) => file)
}

/** Large groups first, and small ones at the end, so that no process has to go on for long after all others. */
function groupsOf(files) {
  const stride = Math.ceil(files.length / filesInOneProcess)
  // Every so-and-so-many-th: the dear ones stand side by side in their folders, and take turns so.
  const waiting = Array.from({ length: stride }, (_, nth) =>
    files.filter((_, index) => index % stride === nth),
  ).flat()
  const groups = []
  while (waiting.length > 0) {
    const share = Math.ceil(waiting.length / (2 * processesAtOnce))
    groups.push(waiting.splice(0, Math.min(filesInOneProcess, Math.max(fewestInOneProcess, share))))
  }
  return groups
}

/**
 * Modules to run in this order, each in a process of its own, with the test files that they import: they are in `folder`.
 * `isShared`: files that may share a process do.
 */
function modulesOf(files, folder, isShared) {
  // The long ones measure what a process takes.
  const isAlone = (file) => !isShared || file.endsWith('.long.test.ts') || needsOwnProcess.test(textOf(file))
  const sharing = files.filter((file) => !isAlone(file))
  const groups = groupsOf(sharing)
  return new Map(
    [...interleaved(files.filter(isAlone)).map((file) => [file]), ...groups].map((group, index) => {
      const path = join(folder, `${String(index).padStart(3, '0')}.test.mjs`)
      writeFileSync(path, group.map((file) => `import ${JSON.stringify(pathToFileURL(file))}\n`).join(''))
      return [path, group]
    }),
  )
}

/**
 * Runs these files; the exit code, and what has failed: files, or all those of a process that ended in their midst, which
 * may be anybody's doing.
 */
function run(files, concurrency, { isShared = true } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'lupine-test-'))
  try {
    const modules = modulesOf(files, folder, isShared)
    const { status } = spawnSync(
      process.execPath,
      [
        '--import',
        'tsx',
        '--import',
        stallReport,
        '--test',
        '--test-reporter=spec',
        '--test-reporter-destination=stdout',
        `--test-reporter=${reporter}`,
        `--test-reporter-destination=${join(folder, 'failed')}`,
        `--test-concurrency=${concurrency}`,
        // A file that hangs is a failure, not a CI run that never ends. The longest ones take two minutes here, and
        // five times as long on a machine with other things to do.
        '--test-timeout=600000',
        ...flags,
        ...modules.keys(),
      ],
      { stdio: 'inherit', env: { ...process.env, ...memoryEnvironment } },
    )
    const failed = new Set(readFileSync(join(folder, 'failed'), 'utf8').split('\n').filter(Boolean))
    const groups = [...failed].map((file) => {
      const group = modules.get(file)
      if (group === undefined) return [relative('.', resolve(file))]
      console.log(`\n${basename(file)}, which did not end or could not be loaded, is\n${group.join('\n')}`)
      return group
    })
    return { status: status ?? 1, failed: groups }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A failed test may stand in a file from which several test files make theirs: those are what can be run again. */
function testFilesOf(failed) {
  if (files.includes(failed)) return [failed]
  const imported = `'./${basename(failed)}'`
  return files.filter(
    (file) => dirname(file) === dirname(failed) && readFileSync(file, 'utf8').includes(imported),
  )
}

const files = (named.length > 0 ? named : ['test', 'repository'])
  .flatMap(testFiles)
  .filter((file) => named.length > 0 || file.endsWith('.long.test.ts') === isLongRun)
  .map((file) => relative('.', resolve(file)))
  .filter((file) => !except.some((start) => file.startsWith(start)))
  .filter((file) => only.length === 0 || only.some((start) => file.startsWith(start)))
const atOnce = files.every(isMeasuring) ? 1 : isLongRun ? 2 : processesAtOnce
const first = run(files, atOnce)
let { status } = first
const failed = first.failed.map((group) => [...new Set(group.flatMap(testFilesOf))])
const isEachKnown = failed.every((group) => group.length > 0)
// Real workers, brokers and browsers share two cores here. What fails beside others is run once more by itself:
// a defect fails again, and what passes is named, so that it gets mended and is not forgotten.
const isWorthAnotherRun =
  files.length > 1 && failed.length > 0 && failed.length <= mostFilesAgain && isEachKnown
if (status !== 0 && isWorthAnotherRun) {
  console.log(
    `\nAgain, each by itself:\n${failed
      .flat()
      .map((file) => `  ${file}`)
      .join('\n')}\n`,
  )
  const failedAgain = failed.filter((group) => run(group, 1, { isShared: false }).status !== 0)
  const unsteady = failed.filter((group) => !failedAgain.includes(group))
  if (unsteady.length > 0)
    console.log(`\nUnsteady (failed beside others, passed alone): ${unsteady.flat().join(', ')}`)
  if (failedAgain.length > 0) console.log(`\nFailed twice: ${failedAgain.flat().join(', ')}`)
  else status = 0
}
process.exit(status)
