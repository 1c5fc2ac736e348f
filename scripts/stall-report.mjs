// Loaded into the process of each test file: one that has not ended shortly before its time is over says what it waits
// for. Where nothing is said, its event loop stood still, too.
import { isMainThread } from 'node:worker_threads'

const shortlyBefore = 570_000
/** As `--test-timeout`. Newer versions of Node hold that against each test alone: their runner waits for ever for a file. */
const end = 600_000

function report() {
  const { libuv, workers } = process.report.getReport()
  const inUse = (handles) => handles.filter((handle) => handle.is_active && handle.is_referenced !== false)
  const lines = [
    `Not ended after ${shortlyBefore / 1_000} s; this waits in the process:`,
    ...inUse(libuv).map((handle) => JSON.stringify(handle)),
    ...workers.map(({ header, libuv: its }) => `worker ${header.threadId}: ${JSON.stringify(inUse(its))}`),
  ]
  console.error(lines.join('\n  '))
}

if (process.env.NODE_TEST_CONTEXT !== undefined && isMainThread) {
  setTimeout(report, shortlyBefore).unref()
  setTimeout(() => process.exit(1), end).unref()
}
