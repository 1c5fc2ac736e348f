import { readFileSync } from 'node:fs'

/** Megabytes of memory that this process alone holds, its share of what it shares counted in. Linux only. */
export function heldMegabytes(pid: number | 'self' = 'self'): number {
  const found = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))
  return Number(found?.[1]) / 1024
}
