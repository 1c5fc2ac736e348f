import type { Isolate, IsolateSource, Sandbox } from '../../src/sandbox/isolate.ts'
import type { SandboxLimits } from '../../src/sandbox/limits.ts'
import type { SandboxSettings } from '../../src/sandbox/sandbox.ts'
import { createRecorder, printedIn, rawSource, type Recorder, testSandbox } from './stage.ts'

/** One of several plugins in one sandbox. */
export interface StagedPlugin {
  recorder: Recorder
  isolate: Isolate
}

export interface Stage {
  sandbox: Sandbox
  /** Loads a plugin `@test/<name>`; `Plugin:new` is called in front of its Lua, as `plugin`, in the same line. */
  load(name: string, lua: string, overrides?: Partial<IsolateSource>): Promise<StagedPlugin>
}

/** Hands over a sandbox for several plugins, and leaves nothing behind. */
export async function withStage(
  use: (stage: Stage) => Promise<void>,
  limits: Partial<SandboxLimits> = {},
  isolation?: SandboxSettings['isolation'],
  more: Partial<SandboxSettings> = {},
): Promise<void> {
  const sandbox = testSandbox(limits, { ...(isolation && { isolation }), ...more })
  const installed = new Set<string>()
  try {
    await use({
      sandbox,
      async load(name, lua, overrides = {}) {
        const recorder = createRecorder()
        const source = rawSource(`local plugin = Plugin:new("${name}") ${lua}`, {
          id: `@test/${name}`,
          shortId: name,
          name,
          ...overrides,
        })
        installed.add(source.id)
        recorder.services.installedAs = (id) =>
          [...installed].filter((plugin) => plugin === id || plugin.endsWith(`/${id}`))
        const isolate = await sandbox.load(source, recorder.services)
        recorder.isolate = isolate
        return { recorder, isolate }
      },
    })
  } finally {
    await sandbox.close()
  }
}

/** For tests whose subject is what is said, and not how soon: on a busy machine nothing is late with these limits. */
export const patient: Partial<SandboxLimits> = { callbackTime: 60_000, unresponsiveAfter: 90_000 }

/** Log lines at info that a plugin writes while it loads, after another one runs. */
export async function linesWith(callee: string, caller: string): Promise<string[]> {
  let lines: string[] = []
  await withStage(async ({ load }) => {
    await load('callee', callee)
    const { recorder } = await load('caller', `local other = Plugin.get("@test/callee") ${caller}`)
    lines = printedIn(recorder)
  }, patient)
  return lines
}
