import fc from 'fast-check'
import type { Placement } from '../../../../src/fleet/leases/placement.ts'
import { clockTolerance } from '../../../../src/fleet/leases/timing.ts'
import { createBroker } from './broker.ts'
import { createHostProcess, type HostProcess, type PauseMoment } from './host-process.ts'
import { fairWeather, type Weather } from './link.ts'
import { allSafeguards, type Safeguards } from './safeguards.ts'
import { createScheduler } from './scheduler.ts'
import { createStore } from './store.ts'
import { createWitness } from './witness.ts'

/** A fleet in a simulated world: what goes wrong, and what came of it. Times in milliseconds. */

export type Fault = { at: number; length: number } & (
  | { kind: 'pause'; host: number; when: PauseMoment }
  | { kind: 'cutFromStore' | 'cutFromBroker' | 'cutOff' | 'drain'; host: number }
  /** It is started again in the same data directory, or in a copy of it. */
  | { kind: 'kill'; host: number; elsewhere: boolean }
  /** It is told to end, and started again in the same directory. */
  | { kind: 'leave'; host: number }
  | { kind: 'storeWithoutLeader' }
  | { kind: 'weather'; weather: Weather }
  | { kind: 'giveBack'; plugin: number }
)

export interface Scenario {
  seed: number
  hosts: number
  plugins: number
  /** Of each clock, against true time. */
  rates: number[]
  faults: Fault[]
}

export interface Outcome {
  breaches: string[]
  acts: number
  lateWrites: number
  acknowledged: number
  /** Longest time without an act of a plugin since the first fault might begin. */
  longestSilence: number
  /** Writes that the store took. */
  writes: number
  /** Who runs what at the end. */
  running: Record<string, string[]>
}

/** Faults begin before this, and last no longer than that. */
export const faultsBegin = 10_000
const faultsUntil = 50_000
const longestFault = 35_000

const anyHost = fc.nat(4)
const fault: fc.Arbitrary<Fault> = fc
  .tuple(
    fc.integer({ min: faultsBegin, max: faultsUntil }),
    fc.oneof(fc.integer({ min: 20, max: longestFault }), fc.integer({ min: 3_000, max: 9_000 })),
    fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({
          kind: fc.constant('pause' as const),
          host: anyHost,
          when: fc.constantFrom(
            'now' as const,
            'beforeAct' as const,
            'beforeEffect' as const,
            'beforeAppend' as const,
          ),
        }),
      },
      {
        weight: 5,
        arbitrary: fc.record({
          kind: fc.constantFrom(
            'cutFromStore' as const,
            'cutFromBroker' as const,
            'cutOff' as const,
            'drain' as const,
          ),
          host: anyHost,
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('kill' as const), host: anyHost, elsewhere: fc.boolean() }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), host: anyHost }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('storeWithoutLeader' as const) }) },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('weather' as const),
          weather: fc.record({
            loss: fc.double({ min: 0, max: 0.4, noNaN: true }),
            duplication: fc.double({ min: 0, max: 0.5, noNaN: true }),
            lateness: fc.double({ min: 0, max: 0.3, noNaN: true }),
          }),
        }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('giveBack' as const), plugin: fc.nat(3) }) },
    ),
  )
  .map(([at, length, what]): Fault => ({ at, length, ...what }))

const rate = fc.oneof(
  fc.constantFrom(1 - clockTolerance, 1, 1 + clockTolerance),
  fc.double({ min: 1 - clockTolerance, max: 1 + clockTolerance, noNaN: true }),
)

export const anyScenario: fc.Arbitrary<Scenario> = fc.record({
  seed: fc.nat(),
  hosts: fc.integer({ min: 3, max: 5 }),
  plugins: fc.integer({ min: 1, max: 4 }),
  rates: fc.array(rate, { minLength: 5, maxLength: 5 }),
  faults: fc.array(fault, { maxLength: 8 }),
})

/** `settling`: milliseconds from the last fault on, until everything has to run. */
export function simulate(
  scenario: Scenario,
  safeguards: Safeguards = allSafeguards,
  settling = 40_000,
): Outcome {
  const scheduler = createScheduler(scenario.seed)
  const store = createStore(safeguards)
  const broker = createBroker(scheduler)
  const witness = createWitness(scheduler)
  let weather = fairWeather
  const hosts = Array.from({ length: scenario.hosts }, (_, index) => `h${index}`)
  const plugins = Array.from({ length: scenario.plugins }, (_, index) => `p${index}`)
  const wanted = new Map<string, Placement>(plugins.map((plugin) => [plugin, {}]))
  const processes = new Map<string, HostProcess>()
  const draining = new Set<string>()
  /** As hosts say it of themselves, which may be old. */
  const withoutBroker = new Set<string>()
  const acknowledged = new Set<string>()
  let begun = 0

  function begin(host: string, heirOf: string | null): void {
    begun += 1
    const process = createHostProcess({
      ...{ scheduler, store, broker, witness, safeguards, host, heirOf },
      weather: () => weather,
      process: `x${begun}`,
      rate: scenario.rates[hosts.indexOf(host)] ?? 1,
    })
    process.tell({ type: 'wantedChanged', wanted })
    processes.set(host, process)
    describeHosts()
    tellBrokers()
  }

  /** Each host hears of it some time later; what it hears last is what holds, as it comes from the journal. */
  function describeHosts(): void {
    for (const process of processes.values()) {
      scheduler.after(scheduler.between(1, 500), () =>
        process.tellPresent(() => ({
          type: 'hostsDescribed',
          descriptions: new Map([...draining].map((host) => [host, { labels: [], draining: true }])),
        })),
      )
    }
  }

  /** What is heard of the broker comes from the hosts, by way of the store, and each hears of it at another time. */
  function tellBrokers(): void {
    for (const process of processes.values())
      scheduler.after(scheduler.between(1, 3_500), () =>
        process.tellPresent(() => ({ type: 'brokersSeen', withoutBroker: new Set(withoutBroker) })),
      )
  }

  function cutFromBroker(host: string, process: HostProcess, isCut: boolean): void {
    process.cutFromBroker(isCut)
    if (isCut) withoutBroker.add(host)
    else withoutBroker.delete(host)
    tellBrokers()
  }

  /** A host that was refused its id is started again, as whoever looks after it would do. */
  function lookAfter(): void {
    for (const [host, process] of processes) if (process.isRefused) begin(host, null)
    scheduler.after(1_000, lookAfter)
  }

  function strike(fault: Fault): void {
    const after = (run: () => void): void => scheduler.after(fault.length, run)
    if (fault.kind === 'storeWithoutLeader') {
      store.answers = false
      scheduler.after(fault.length / 2, () => (store.hasLeader = false))
      after(() => {
        store.hasLeader = true
        store.answers = true
      })
      return
    }
    if (fault.kind === 'weather') {
      weather = fault.weather
      after(() => (weather = fairWeather))
      return
    }
    if (fault.kind === 'giveBack') {
      const plugin = plugins[fault.plugin % plugins.length] ?? ''
      for (const process of processes.values()) process.tell({ type: 'giveBack', plugin })
      return
    }
    const host = hosts[fault.host % hosts.length] ?? ''
    const process = processes.get(host)
    if (process === undefined) return
    switch (fault.kind) {
      case 'pause':
        return void process.pause(fault.length, fault.when)
      case 'cutFromStore':
        process.cutFromStore(true)
        return void after(() => process.cutFromStore(false))
      case 'cutFromBroker':
        cutFromBroker(host, process, true)
        return void after(() => cutFromBroker(host, process, false))
      case 'cutOff':
        process.cutFromStore(true)
        cutFromBroker(host, process, true)
        return void after(() => {
          process.cutFromStore(false)
          cutFromBroker(host, process, false)
        })
      case 'drain':
        draining.add(host)
        describeHosts()
        return void after(() => {
          draining.delete(host)
          describeHosts()
        })
      case 'leave': {
        process.tell({ type: 'leave' })
        return void after(() => {
          if (processes.get(host) !== process) return
          process.kill()
          begin(host, process.state.process)
        })
      }
      case 'kill': {
        if (!process.isAlive) return
        process.kill()
        const heirOf = fault.elsewhere ? null : process.state.process
        return void after(() => processes.get(host) === process && begin(host, heirOf))
      }
    }
  }

  /** Somebody who tries until a host has said that it is done. */
  function give(nth: number): void {
    const key = `command-${nth}`
    const plugin = scheduler.pick(plugins)
    const attempt = (): void => {
      if (acknowledged.has(key)) return
      processes.get(scheduler.pick(hosts))?.command(plugin, key, () => acknowledged.add(key))
      scheduler.after(2_000, attempt)
    }
    attempt()
    scheduler.after(scheduler.between(300, 1_500), () => give(nth + 1))
  }

  // All at once, and each gets some of the plugins; or one by one, and the first gets them all.
  const spread = scheduler.pick([50, 3_000])
  for (const host of hosts) scheduler.after(scheduler.between(0, spread), () => begin(host, null))
  for (const fault of scenario.faults) scheduler.after(fault.at, () => strike(fault))
  lookAfter()
  give(0)
  const faultsEnd = Math.max(faultsBegin, ...scenario.faults.map(({ at, length }) => at + length))
  const end = faultsEnd + settling
  scheduler.runUntil(end)

  const running = Object.fromEntries(
    plugins.map((plugin) => [
      plugin,
      hosts.filter((host) => {
        const process = processes.get(host)
        return process?.isAlive === true && process.running().includes(plugin)
      }),
    ]),
  )
  for (const [plugin, where] of Object.entries(running)) {
    if (where.length !== 1) witness.breach(`${plugin} runs on ${where.length} hosts`)
    if (witness.longestSilence(plugin, end - settling / 2) > 10_000) witness.breach(`${plugin} does nothing`)
  }
  const counts = new Map<string, number>()
  for (const plugin of plugins) {
    let known = 0
    for (const entry of store.journal(plugin)) {
      if (entry.kind === 'command') counts.set(entry.key, (counts.get(entry.key) ?? 0) + 1)
      else if (entry.epoch < known) {
        witness.breach(`${plugin}: ${entry.kind} of epoch ${entry.epoch} after ${known}`)
      } else known = entry.epoch
    }
  }
  for (const key of acknowledged) if (!counts.has(key)) witness.breach(`${key} was acknowledged and is lost`)
  for (const [key, count] of counts) if (count > 1) witness.breach(`${key} was done ${count} times`)

  const silences = plugins.map((plugin) => witness.longestSilence(plugin, faultsBegin))
  return {
    breaches: witness.breaches,
    acts: witness.acts,
    lateWrites: witness.lateWrites,
    acknowledged: acknowledged.size,
    longestSilence: Math.max(...silences),
    writes: store.writes,
    running,
  }
}
