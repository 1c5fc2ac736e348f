import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'

/** Seconds. */
const measuredFor = 10

/** How often a second any thread of this process begins to run after it has waited for something. Linux only. */
export async function wakeUps(pid: number): Promise<number> {
  const before = voluntarySwitches(pid)
  await wait(measuredFor * 1_000)
  return (voluntarySwitches(pid) - before) / measuredFor
}

function voluntarySwitches(pid: number): number {
  let sum = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8')
    sum += Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1])
  }
  return sum
}
