import { setFlagsFromString } from 'node:v8'

/** A flag of V8, and so of the process, that is other than usual while at least one asks for it. */
export function createProcessFlag(other: string, usual: string): { ask(): void; release(): void } {
  let asking = 0
  return {
    ask() {
      asking += 1
      if (asking === 1) setFlagsFromString(other)
    },
    release() {
      asking -= 1
      if (asking === 0) setFlagsFromString(usual)
    },
  }
}
