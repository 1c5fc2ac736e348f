import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLawStage, type LawHost, type LawStage, takeOverLimit } from './law/law-stage.ts'

/** The law of docs/fleet.md under every fault in turn, over real processes. */

interface Fault {
  what: string
  /** Whether the host loses its plugins to others. */
  isLosing: boolean
  strike(host: LawHost, stage: LawStage): Promise<void> | void
  heal(host: LawHost, stage: LawStage): Promise<void> | void
}

const faults: Fault[] = [
  {
    what: 'killed',
    isLosing: true,
    strike: (host) => host.end('SIGKILL'),
    heal: (host) => host.start(),
  },
  {
    what: 'paused',
    isLosing: true,
    strike: (host) => host.signal('SIGSTOP'),
    heal: (host) => host.signal('SIGCONT'),
  },
  {
    what: 'paused, with what it had sent still on the way',
    isLosing: true,
    strike(host) {
      host.toBroker.hold()
      host.signal('SIGSTOP')
    },
    heal(host) {
      host.toBroker.pass()
      host.signal('SIGCONT')
    },
  },
  {
    what: 'cut off from the store',
    isLosing: true,
    strike: (host) => host.toStore.hold(),
    heal: (host) => host.toStore.pass(),
  },
  {
    what: 'cut off from both',
    isLosing: true,
    strike(host) {
      host.toBroker.hold()
      host.toStore.hold()
    },
    heal(host) {
      host.toStore.pass()
      host.toBroker.pass()
    },
  },
  {
    what: 'stopped in good order',
    isLosing: true,
    strike: (host) => host.end('SIGTERM'),
    heal: (host) => host.start(),
  },
  {
    what: 'without its connection to the broker for a moment',
    isLosing: false,
    strike: (host) => host.toBroker.refuse(),
    heal: (host) => host.toBroker.pass(),
  },
  {
    what: 'on a store that is killed and started again',
    isLosing: false,
    strike: (_host, { store }) => store.stop('SIGKILL'),
    heal: (_host, { store }) => store.start(),
  },
]

test('nobody acts twice, and everything runs again, whatever is done to one of three hosts', async (context) => {
  const stage = await createLawStage(context, { hosts: 3, fence: true })
  for (const round of [1, 2]) {
    for (const { what, isLosing, strike, heal } of faults) {
      const [host] = stage.busiest()
      const moving = stage.pluginsOf(host)
      const moved = stage.moved(moving)
      await strike(host, stage)
      const took = isLosing ? await moved : undefined
      moved.catch(() => undefined)
      await heal(host, stage)
      await stage.allAct()
      context.diagnostic(
        `round ${round}, ${what}: ${took === undefined ? 'stays' : `${Math.round(took)} ms`}`,
      )
      assert.deepEqual(stage.breaches, [], what)
      if (took !== undefined) assert.ok(took < takeOverLimit, `${what}: ${took} ms`)
    }
  }
  // Each of them is there again: it has everything when the others go.
  for (const host of stage.hosts) {
    const others = stage.hosts.filter((other) => other !== host)
    for (const other of others) {
      const moved = stage.moved(stage.pluginsOf(other))
      await other.end('SIGTERM')
      await moved
    }
    await stage.allAct()
    assert.deepEqual(stage.pluginsOf(host), [...stage.plugins])
    for (const other of others) other.start()
  }
  context.diagnostic(`${stage.acts} acts`)
  assert.deepEqual(stage.breaches, [])
  assert.deepEqual(
    stage.hosts.map(({ output }) => output()),
    ['', '', ''],
  )
})
