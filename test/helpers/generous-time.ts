import type { SandboxLimits } from '../../src/sandbox/limits.ts'

/** For a plugin that is to end by taking too much memory: on a busy machine its time must not run out before. */
export const generousTime: Partial<SandboxLimits> = {
  callbackTime: 240_000,
  unresponsiveAfter: 250_000,
  memory: 40,
}
