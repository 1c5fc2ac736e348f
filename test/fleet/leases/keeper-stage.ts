import type { TestContext } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import { createElapsedTime } from '../../../src/base/time/elapsed-time.ts'
import {
  createLeaseKeeper,
  type LeaseKeeper,
  type LeaseKeeperActions,
  type LeaseKeeperSettings,
} from '../../../src/fleet/leases/lease-keeper.ts'
import type { Placement } from '../../../src/fleet/leases/placement.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'

/** A keeper whose plugins are names, and what it has done. */
export interface KeptHost {
  keeper: LeaseKeeper
  /** As sentences: `start @a/p 1`. */
  done: string[]
  /** Plugins that were started and not stopped, with their epochs. */
  running: Map<string, number>
  errors: Error[]
}

let processes = 0

export function plugins(...ids: string[]): Map<string, Placement> {
  return new Map(ids.map((id) => [id, {}]))
}

export function createKeptHost(
  context: TestContext,
  url: string,
  fleet: string,
  host: string,
  options: Partial<LeaseKeeperSettings> & {
    wanted?: Map<string, Placement>
    on?: Partial<LeaseKeeperActions>
  } = {},
): KeptHost {
  const { wanted, on, ...settings } = options
  const done: string[] = []
  const errors: Error[] = []
  const running = new Map<string, number>()
  const end = (plugin: string, epoch: number): void => {
    if (running.get(plugin) === epoch) running.delete(plugin)
  }
  processes += 1
  const keeper = createLeaseKeeper({
    address: { servers: [url], name: host },
    ...{ fleet, host, clock: systemClock, elapsed: createElapsedTime() },
    name: { process: `x${processes}`, heirOf: null },
    logger: createRecordingLogger(),
    actions: {
      sessionBegan: (session) => void done.push(`began ${session}`),
      sessionOver: (session) => void done.push(`over ${session}`),
      start(plugin, epoch) {
        done.push(`start ${plugin} ${epoch}`)
        running.set(plugin, epoch)
      },
      async stop(plugin, epoch) {
        done.push(`stop ${plugin} ${epoch}`)
        end(plugin, epoch)
      },
      kill(plugin, epoch) {
        done.push(`kill ${plugin} ${epoch}`)
        end(plugin, epoch)
      },
      async fence(of, session) {
        done.push(`fence ${of} ${session}`)
      },
      async flush() {
        done.push('flush')
      },
      failed: (error) => void errors.push(error),
      ...on,
    },
    ...settings,
  })
  context.after(() => keeper.close())
  if (wanted !== undefined) keeper.want(wanted)
  return { keeper, done, running, errors }
}

export async function openKeptHost(...parameters: Parameters<typeof createKeptHost>): Promise<KeptHost> {
  const kept = createKeptHost(...parameters)
  await kept.keeper.open()
  return kept
}
