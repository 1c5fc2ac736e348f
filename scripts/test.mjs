// Runs the tests with node:test through tsx: the short ones, with `--long` those that are long for their own sake
// (`*.long.test.ts`: kills, floods, endurance), or the files and folders named on the command line.
// Node 20 takes no glob patterns, so the files are listed here.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const isLongRun = process.argv.includes('--long')
const flags = process.argv.slice(2).filter((argument) => argument.startsWith('-') && argument !== '--long')
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('-'))
const reporter = fileURLToPath(new URL('failed-files-reporter.mjs', import.meta.url))

/** More files than these are no accident of a busy machine. */
const mostFilesAgain = 3

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

/** What a file may not share with another: hooks of the whole process, its settings, its memory. */
const needsOwnProcess =
  /^(before|after|beforeEach|afterEach)\(|\bprocess\.(env|umask|memoryUsage|on)\b|collectGarbage|mainThread/m
/** Test files of one folder that share a process; loading the host takes longer than most tests. */
const filesInOneProcess = 6

/** Modules to run, each in a process of its own: single files, and in `folder` modules that import several. */
function processesFor(files, folder) {
  // The long ones measure what a process takes.
  const alone = files.filter(
    (file) => file.endsWith('.long.test.ts') || needsOwnProcess.test(readFileSync(file, 'utf8')),
  )
  const byDirectory = new Map()
  for (const file of files) {
    if (alone.includes(file)) continue
    byDirectory.set(dirname(file), [...(byDirectory.get(dirname(file)) ?? []), file])
  }
  const groups = [...byDirectory.values()].flatMap((group) => {
    const count = Math.ceil(group.length / filesInOneProcess)
    return Array.from({ length: count }, (_, nth) => group.filter((_, index) => index % count === nth))
  })
  const modules = groups.map((group, index) => {
    if (group.length === 1) return group[0]
    const path = join(folder, `group-${index}.test.mjs`)
    writeFileSync(path, group.map((file) => `import ${JSON.stringify(pathToFileURL(file))}\n`).join(''))
    return path
  })
  return [...alone, ...modules]
}

/** Runs these files; the exit code, and the files with a failure. */
function run(files, concurrency) {
  const folder = mkdtempSync(join(tmpdir(), 'lupine-test-'))
  try {
    const { status } = spawnSync(
      process.execPath,
      [
        '--import',
        'tsx',
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
        ...processesFor(files, folder),
      ],
      { stdio: 'inherit' },
    )
    const failed = readFileSync(join(folder, 'failed'), 'utf8').split('\n').filter(Boolean)
    return { status: status ?? 1, failed: [...new Set(failed)].map((file) => relative('.', resolve(file))) }
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
const first = run(files, 2)
let { status } = first
const failed = [...new Set(first.failed.flatMap(testFilesOf))]
const isEachKnown = first.failed.every((file) => testFilesOf(file).length > 0)
// Real workers, brokers and browsers share two cores here. What fails beside others is run once more by itself:
// a defect fails again, and what passes is named, so that it gets mended and is not forgotten.
const isWorthAnotherRun =
  files.length > 1 && failed.length > 0 && failed.length <= mostFilesAgain && isEachKnown
if (status !== 0 && isWorthAnotherRun) {
  console.log(`\nAgain, each by itself:\n${failed.map((file) => `  ${file}`).join('\n')}\n`)
  const failedAgain = failed.filter((file) => run([file], 1).status !== 0)
  const unsteady = failed.filter((file) => !failedAgain.includes(file))
  if (unsteady.length > 0)
    console.log(`\nUnsteady (failed beside others, passed alone): ${unsteady.join(', ')}`)
  if (failedAgain.length > 0) console.log(`\nFailed twice: ${failedAgain.join(', ')}`)
  else status = 0
}
process.exit(status)
