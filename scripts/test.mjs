// Runs the tests with node:test through tsx: all of them, or the files and folders named on the command line.
// Node 20 takes no glob patterns, so the files are listed here.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('-'))
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('-'))
const reporter = fileURLToPath(new URL('failed-files-reporter.mjs', import.meta.url))

/** More files than these are no accident of a busy machine. */
const mostFilesAgain = 3

function testFiles(path) {
  if (statSync(path).isFile()) return [path]
  return readdirSync(path, { recursive: true })
    .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
    .map((name) => join(path, name))
    .sort()
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
        ...files,
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
