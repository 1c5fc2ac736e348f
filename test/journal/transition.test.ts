import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { type AnyMachineSnapshot, createMachine, initialTransition, transition } from 'xstate'
import { host } from '../../machines/host.ts'
import { pluginLifecycle } from '../../machines/plugin-lifecycle.ts'
import { applyFact, initialState, type PluginSnapshot } from '../../src/journal/fold/evolve.ts'
import { createTransition } from '../../src/journal/fold/transition.ts'
import { foldVersion, storeState } from '../../src/journal/fold/stored-state.ts'
import { hostFacts, pluginFacts } from '../../src/schema/journal/journal-event.ts'
import { pluginStates } from '../../src/schema/plugin/plugin.ts'
import { hostFactsOfAll, id, other, pluginFactsOf } from '../helpers/any-fact.ts'
import { createRandom, pickFrom } from '../helpers/random.ts'

const at = '2026-01-01T00:00:00.000Z'

const plain = (snapshot: AnyMachineSnapshot | undefined): unknown =>
  snapshot && JSON.parse(JSON.stringify(snapshot))

interface Compared<Snapshot, Event> {
  /** Names of all states. */
  states: string[]
  initial: Snapshot
  events: readonly Event[]
  step: (snapshot: Snapshot, event: Event) => Snapshot | undefined
  /** The same by XState. */
  transition: (snapshot: Snapshot, event: Event) => Snapshot
  takes: (snapshot: Snapshot, event: Event) => boolean
}

function compare<Snapshot extends AnyMachineSnapshot, Event extends { type: string }>(
  name: string,
  { states, initial, events, step, transition, takes }: Compared<Snapshot, Event>,
): void {
  test(`a step of ${name} is what the transition of the machine is, from wherever 20,000 steps lead`, () => {
    const random = createRandom(7)
    const visited = new Set<unknown>()
    const takenIn = (snapshot: Snapshot | undefined): string | undefined =>
      snapshot && events.map((next) => takes(snapshot, next)).join()
    let snapshot = initial
    for (let count = 0; count < 20_000; count += 1) {
      const event = pickFrom(random, events)
      const expected = takes(snapshot, event) ? transition(snapshot, event) : undefined
      const found = step(snapshot, event)
      assert.deepEqual(plain(found), plain(expected), `${String(snapshot.value)}, ${event.type}`)
      assert.equal(takenIn(found), takenIn(expected))
      visited.add(snapshot.value)
      snapshot = found ?? snapshot
    }
    assert.deepEqual([...visited].sort(), [...states].sort(), 'all states were met')
  })
}

compare('a plugin', {
  states: Object.keys(pluginLifecycle.states),
  initial: initialTransition(pluginLifecycle, { id })[0],
  events: pluginFactsOf(id).map((fact) => ({ ...fact, at })),
  step: createTransition(pluginLifecycle),
  transition: (snapshot, event) => transition(pluginLifecycle, snapshot, event)[0],
  takes: (snapshot, event) => snapshot.can(event),
})
compare('the host', {
  states: Object.keys(host.states),
  initial: initialTransition(host)[0],
  events: hostFactsOfAll.filter((fact) => fact.plugin === null).map((fact) => ({ ...fact, at })),
  step: createTransition(host),
  transition: (snapshot, event) => transition(host, snapshot, event)[0],
  takes: (snapshot, event) => snapshot.can(event),
})

test('a machine that does more than name states and assign is no machine for the journal', () => {
  const refused: Parameters<typeof createMachine>[0][] = [
    { initial: 'a', states: { a: { entry: () => undefined } } },
    { initial: 'a', states: { a: { after: { 100: 'a' } } } },
    { initial: 'a', states: { a: { initial: 'b', states: { b: {} } } } },
    { initial: 'a', states: { a: { on: { GO: { actions: () => undefined } } } } },
  ]
  for (const config of refused) assert.throws(() => createTransition(createMachine(config)), TypeError)
})

/**
 * States that are stored are believed as long as the fold is the one that made them. When this fails because the
 * machines lead somewhere else now, raise `foldVersion`, and put the new version with its hash here.
 */
const knownFold = { version: 1, hash: '752d3a6ab7e0674e76895ebc6e6f57cd3a023c46e3f0c0f6b7443e0a40755802' }

test('the version of the fold is raised with each change of what follows from given events', () => {
  const facts = [...pluginFactsOf(id), ...pluginFactsOf(other), ...hostFactsOfAll]
  const types = new Set<string>(facts.map(({ type }) => type))
  assert.deepEqual([...types].sort(), [...Object.keys(pluginFacts), ...Object.keys(hostFacts)].sort())
  const random = createRandom(11)
  const hash = createHash('sha256')
  const plugins = new Map<string, PluginSnapshot>()
  let { seq, host: hostNow } = initialState()
  const visited = new Set<string>()
  for (let count = 0; count < 5_000; count += 1) {
    const fact = pickFrom(random, facts)
    const applied = applyFact({ host: hostNow, plugins }, fact, new Date(count * 1_000).toISOString())
    if (applied === undefined) continue
    seq += 1
    hostNow = applied.host
    if (fact.plugin !== null && applied.plugin !== undefined) plugins.set(fact.plugin, applied.plugin)
    const state = { seq, host: hostNow, plugins }
    hash.update(JSON.stringify(storeState({ state, event: null, lastOf: new Map(), requests: new Map() })))
    visited.add(`${fact.type} ${applied.value}`)
  }
  assert.ok(
    pluginStates.every(
      (name) => [...visited].some((visit) => visit.endsWith(` ${name}`)) || name === 'notInstalled',
    ),
  )
  assert.deepEqual({ version: foldVersion, hash: hash.digest('hex') }, knownFold)
})
