import type { SandboxLimits } from '../../src/sandbox/limits.ts'

/** For a plugin that is to end by taking too much memory: on a busy machine its time must not run out before. */
export const generousTime: Partial<SandboxLimits> = {
  luaCallback: 240_000,
  unresponsiveAfter: 250_000,
  oldGenerationMegabytes: 40,
}
