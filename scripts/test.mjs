// Runs the tests with node:test through tsx: all of them, or the files and folders named on the command line.
// Node 20 takes no glob patterns, so the files are listed here.
import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('-'))
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('-'))

function testFiles(path) {
  if (statSync(path).isFile()) return [path]
  return readdirSync(path, { recursive: true })
    .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
    .map((name) => join(path, name))
    .sort()
}

const files = (named.length > 0 ? named : ['test', 'repository']).flatMap(testFiles)
const { status } = spawnSync(
  process.execPath,
  [
    '--import',
    'tsx',
    '--test',
    '--test-reporter=spec',
    '--test-concurrency=2',
    // A file that hangs is a failure, not a CI run that never ends.
    '--test-timeout=300000',
    ...flags,
    ...files,
  ],
  { stdio: 'inherit' },
)
process.exit(status ?? 1)
