import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { tableHead, writeTable } from './figure.ts'

// npm run bench [-- name…]: every `*.bench.ts` in a process of its own, or those that are named; Linux only. One table:
// each figure a ratio to a floor, or a difference from it, in the same run (median, and the middle half of the rounds).

const here = new URL('.', import.meta.url)
const named = process.argv.slice(2)
const files = readdirSync(here)
  .filter((file) => file.endsWith('.bench.ts'))
  .filter((file) => named.length === 0 || named.some((name) => file.startsWith(name)))
  .sort()
if (files.length === 0) {
  console.error('No such figure; there are the files *.bench.ts in bench/.')
  process.exit(2)
}
console.log(tableHead)
const failed = files.filter((file) => {
  const path = fileURLToPath(new URL(file, here))
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', path], { stdio: 'inherit' })
  return status !== 0
})
writeTable()
if (failed.length > 0) console.error(`Not measured: ${failed.join(', ')}`)
process.exitCode = failed.length > 0 ? 1 : 0
