import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { systemClock } from '../../../src/base/time/clock.ts'
import { createKeyRing } from '../../../src/base/keys/key-ring.ts'
import { openJournalStream } from '../../../src/fleet/journal/journal-stream.ts'
import { encodeMessage } from '../../../src/fleet/journal/stream-message.ts'
import { journalStreamName, journalSubject } from '../../../src/fleet/journal/subjects.ts'
import { decide, requireRevision } from '../../../src/journal/fold/decide.ts'
import { pluginIn } from '../../../src/journal/fold/evolve.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import { StaleDecisionError } from '../../../src/journal/fold/stale-decision.ts'
import { stampFacts } from '../../../src/journal/fold/stamp.ts'
import { noVault } from '../../../src/journal/vault.ts'
import { createSecretVault } from '../../../src/lifecycle/secrets/secret-vault.ts'
import { configured, id, installation, other } from '../../helpers/any-fact.ts'
import { failingFileSystem } from '../../helpers/failing-file-system.ts'
import { type Stall, stallingFileSystem } from '../../helpers/stalling-file-system.ts'
import { everythingOf, plainState, readAll } from '../../helpers/journal-stage.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'
import { journalContract } from '../../journal/journal-contract.ts'
import { createFleetStage } from '../fleet-stage.ts'

const stage = createFleetStage()

journalContract('the journal of a fleet', async (context, options) => {
  const directory = await temporaryDirectory(context)
  const fleet = stage.newFleet()
  return () => stage.openHost(context, fleet, { ...options, directory })
})

/** Ten times as quick as all others; its timers come a moment before their time, as those of Node may. */
const hurriedClock = {
  ...systemClock,
  monotonic: () => systemClock.monotonic() * 10,
  schedule: (milliseconds: number, callback: () => void) =>
    systemClock.schedule(milliseconds / 10 - 2, callback),
}

/** Resolves when the journal has the event with this number. */
function reached(journal: Journal, seq: number): Promise<void> {
  return new Promise((resolve) => {
    const stop = journal.subscribe((event) => check(event.seq))
    check(journal.state.seq)
    function check(now: number): void {
      if (now < seq) return
      stop()
      resolve()
    }
  })
}

test('hosts of one fleet show the same events under the same numbers, whoever wrote them', async (context) => {
  const fleet = stage.newFleet()
  const first = await stage.openHost(context, fleet)
  const second = await stage.openHost(context, fleet)
  await first.append(installation(id), 'http', 'key-1')
  await second.append(installation(other), 'http')
  await reached(second, 4)
  await reached(first, 4)
  const late = await stage.openHost(context, fleet)
  const known = everythingOf(first, ['key-1'])
  assert.deepEqual(everythingOf(second, ['key-1']), known)
  assert.deepEqual(everythingOf(late, ['key-1']), known)
  assert.equal(known.all.length, 4)
})

test('of many decisions at once on three hosts none is lost: a refused one is taken again from the newer state', async (context) => {
  const fleet = stage.newFleet()
  const hosts = await Promise.all([1, 2, 3].map(() => stage.openHost(context, fleet)))
  const [first] = hosts
  await first?.append(installation(id), 'http')
  const increments = hosts.flatMap((host) =>
    Array.from({ length: 15 }, () =>
      host.decide(
        id,
        (state) => {
          const n = Number(pluginIn(state, id).context.config.n ?? 0)
          return state.plugins.has(id) ? [configured(id, { n: n + 1 })] : []
        },
        'http',
      ),
    ),
  )
  const events = (await Promise.all(increments)).flat()
  const expected = 2 + events.length
  await Promise.all(hosts.map((host) => reached(host, expected)))
  for (const host of hosts) {
    assert.equal(pluginIn(host.state, id).context.config.n, events.length)
    assert.deepEqual(plainState(host.state), plainState(hosts[0]?.state ?? host.state))
  }
  assert.ok(events.length >= 15)
})

test('what one host has acknowledged is the ground for what is asked of another right after', async (context) => {
  const fleet = stage.newFleet()
  const first = await stage.openHost(context, fleet)
  const second = await stage.openHost(context, fleet)
  for (let n = 0; n < 10; n += 1) {
    const plugin = `@fixtures/p${n}`
    await first.append(installation(plugin), 'http')
    await second.append([configured(plugin, { n })], 'http')
    const [enabled] = await first.decide(
      plugin,
      (state) => decide(pluginIn(state, plugin), { type: 'toggle', enabled: true }),
      'http',
    )
    assert.equal(enabled?.revision, 4)
  }
})

test('If-Match holds across hosts: of two changes to the same revision one is refused', async (context) => {
  const fleet = stage.newFleet()
  const hosts = await Promise.all([1, 2, 3].map(() => stage.openHost(context, fleet)))
  await hosts[0]?.append(installation(id), 'http')
  await Promise.all(hosts.map((host) => reached(host, 2)))
  const results = await Promise.allSettled(
    hosts.map((host, n) =>
      host.decide(
        id,
        (state) => {
          requireRevision(pluginIn(state, id), 2)
          return decide(pluginIn(state, id), { type: 'configure', config: { n } })
        },
        'http',
      ),
    ),
  )
  assert.deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected', 'rejected'])
  for (const result of results) {
    if (result.status === 'rejected') assert.equal(result.reason.code, 'revision_conflict')
  }
})

test('the same Idempotency-Key on several hosts acts once, and all get the same answer', async (context) => {
  const fleet = stage.newFleet()
  const hosts = await Promise.all([1, 2, 3].map(() => stage.openHost(context, fleet)))
  await hosts[0]?.append(installation(id), 'http')
  await Promise.all(hosts.map((host) => reached(host, 2)))
  const flip = (host: (typeof hosts)[number]) =>
    host.decide(
      id,
      (state) => decide(pluginIn(state, id), { type: 'toggle', enabled: undefined }),
      'http',
      'key-1',
    )
  const answers = await Promise.all(hosts.map(flip))
  assert.deepEqual(
    answers.map((events) => events.map((event) => event.id)),
    answers.map(() => [answers[0]?.[0]?.id]),
  )
  const late = await stage.openHost(context, fleet)
  assert.equal(late.state.seq, 3)
  assert.deepEqual([late.recallRequest('key-1'), pluginIn(late.state, id).context.enabled], [id, true])
})

test('a request whose first answer got lost has what it wrote then, although its facts are no longer possible', async (context) => {
  const journal = await stage.openHost(context, stage.newFleet())
  await journal.append(installation(id), 'http')
  const facts = decide(pluginIn(journal.state, id), { type: 'toggle', enabled: true })
  // The second time they are decided before the first events are known here.
  const [first, again] = await Promise.all([
    journal.append(facts, 'http', 'key-2'),
    journal.append(facts, 'http', 'key-2'),
  ])
  assert.deepEqual(again, first)
  await assert.rejects(journal.append(facts, 'http', 'key-3'), { code: 'invalid_transition' })
})

test('facts that were decided before the last ones were known are to be decided once more', async (context) => {
  const journal = await stage.openHost(context, stage.newFleet())
  await journal.append(installation(id), 'http')
  const facts = decide(pluginIn(journal.state, id), { type: 'toggle', enabled: true })
  const [, again] = await Promise.allSettled([journal.append(facts, 'http'), journal.append(facts, 'http')])
  assert.ok(again.status === 'rejected' && again.reason instanceof StaleDecisionError)
  // Now they are known, and it is the caller's mistake.
  await assert.rejects(journal.append(facts, 'http'), { code: 'invalid_transition' })
})

test('an append that broke off half-way is finished by whoever writes next', async (context) => {
  const fleet = stage.newFleet()
  const stream = await openJournalStream(await stage.connection(context), fleet)
  const host = await stage.openHost(context, fleet)
  const stamped = stampFacts(host.state, installation(id), { by: 'http', now: 0, requestKey: undefined })
  assert.ok(typeof stamped !== 'string')
  const [requested, installed] = stamped.steps.map(({ event }) => event)
  assert.ok(requested !== undefined && installed !== undefined)
  // The process that did this is dead: the second event is promised, and was not sent.
  const data = encodeMessage(requested, [installed], noVault)
  await stream.publish(journalSubject(fleet, id), data, { id: requested.id, expected: 0 })
  await reached(host, 1)
  assert.equal(pluginIn(host.state, id).value, 'installing')
  const restarted = await stage.openHost(context, fleet)
  await Promise.all([
    host.append([configured(id, { by: 'host' })], 'http'),
    restarted.append([configured(id, { by: 'restarted' })], 'http'),
  ])
  await reached(host, 4)
  assert.deepEqual(
    readAll(host).map(({ type }) => type),
    ['PluginInstallRequested', 'PluginInstalled', 'PluginConfigured', 'PluginConfigured'],
  )
  assert.equal(readAll(host)[1]?.id, installed.id)
})

test('secrets are encrypted before they leave the host, and a host with the same key reads them', async (context) => {
  const fleet = stage.newFleet()
  const key = randomBytes(32)
  const vaultOf = (bytes: Buffer) => createSecretVault(createKeyRing([bytes]), () => undefined)
  const host = await stage.openHost(context, fleet, { vault: vaultOf(key) })
  await host.append(installation(id), 'http')
  await host.append([configured(id, { apiKey: 'pearl-button', city: 'Ulm' })], 'http')
  const stream = await openJournalStream(await stage.connection(context), fleet)
  const text = Buffer.from((await stream.get({ seq: 3 }))?.data ?? []).toString()
  assert.match(text, /"PluginConfigured"/)
  assert.doesNotMatch(text, /pearl-button/)
  const same = await stage.openHost(context, fleet, { vault: vaultOf(key) })
  assert.equal(pluginIn(same.state, id).context.config.apiKey, 'pearl-button')
  await assert.rejects(stage.openHost(context, fleet, { vault: vaultOf(randomBytes(32)) }), {
    name: 'StoreRefusedError',
    message: /^Event 3 of the stream LUPINE_fleet-\d+_JOURNAL cannot be taken in: .*key/,
  })
})

test('a host whose disk is full says so, and catches up when there is room', async (context) => {
  const fleet = stage.newFleet()
  let isFull = false
  const files = failingFileSystem((operation) => isFull && operation === 'write')
  const full = await stage.openHost(context, fleet, { files })
  const well = await stage.openHost(context, fleet)
  await full.append(installation(id), 'http')
  isFull = true
  await assert.rejects(full.append([configured(id, { a: 1 })], 'http'), {
    code: 'storage_full',
    message:
      /Whether the change was made, the history shows at any other host; then it takes effect here as soon as there is room\.$/,
  })
  await reached(well, 3)
  assert.deepEqual(pluginIn(full.state, id).context.config, {})
  isFull = false
  await reached(full, 3)
  await full.append([configured(id, { b: 2 })], 'http')
  await reached(well, 4)
  assert.deepEqual(everythingOf(full), everythingOf(well))
})

test('what is handed out once more, as the stream is followed anew while the disk is full, is taken once', async (context) => {
  const fleet = stage.newFleet()
  let isFull = false
  const files = failingFileSystem((operation) => isFull && operation === 'write')
  // Signs of life that come each second come too late for it.
  const full = await stage.openHost(context, fleet, { files, clock: hurriedClock })
  const well = await stage.openHost(context, fleet)
  await well.append(installation(id), 'http')
  await reached(full, 2)
  isFull = true
  await well.append([configured(id, { a: 1 })], 'http')
  const manager = await jetstreamManager(await stage.connection(context))
  const consumers = new Set<string>()
  await until('the stream to be followed anew', async () => {
    const found = await manager.consumers.list(journalStreamName(fleet)).next()
    for (const { name } of found) consumers.add(name)
    // One is that of the other host.
    return consumers.size >= 5
  })
  isFull = false
  await well.append([configured(id, { b: 2 })], 'http')
  await reached(full, 4)
  assert.deepEqual(everythingOf(full), everythingOf(well))
})

test('an append that the store has taken, and the disk here does not take, is refused in time, and made all the same', async (context) => {
  const fleet = stage.newFleet()
  let held: Stall | undefined
  const files = stallingFileSystem(() => held)
  const host = await stage.openHost(context, fleet, { files, clock: hurriedClock })
  const other = await stage.openHost(context, fleet)
  await other.append(installation(id), 'http')
  await reached(host, 2)
  let goOn = (): void => undefined
  held = { begun: () => undefined, over: new Promise((free) => (goOn = free)) }
  await assert.rejects(host.append([configured(id, { a: 1 })], 'http'), {
    name: 'StoreUnreachableError',
    message: "Event 3 of the fleet's journal has not come.",
  })
  held = undefined
  goOn()
  await Promise.all([reached(host, 3), reached(other, 3)])
  assert.deepEqual(everythingOf(host), everythingOf(other))
})
