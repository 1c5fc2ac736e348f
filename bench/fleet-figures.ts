import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { connect as connectSocket, type Socket } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { systemClock } from '../src/base/time/clock.ts'
import { createElapsedTime } from '../src/base/time/elapsed-time.ts'
import { systemFileSystem } from '../src/base/files/file-system.ts'
import { silentLogger } from '../src/base/log/log.ts'
import { type FleetJournal, openFleetJournal } from '../src/fleet/journal/fleet-journal.ts'
import { createLeaseKeeper } from '../src/fleet/leases/lease-keeper.ts'
import { connectStore } from '../src/fleet/store/connect-store.ts'
import type { Fact } from '../src/schema/journal/journal-event.ts'
import { type NatsServer, startNatsCluster, startNatsServer } from '../test/helpers/nats-server.ts'

/**
 * The figures of docs/scale.md: `node --import tsx --expose-gc bench/fleet-figures.ts`. What a fleet costs its store, and what
 * its journal costs a host. Linux, with nats-server; a few minutes.
 */

const monitored = { lines: ['http: "127.0.0.1:-1"'] }
const megabyte = 1_024 * 1_024
const openFiles = new Set<string>()

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'lupine-figures-'))
  openFiles.add(made)
  return made
}

const say = (what: string, value: number | string): void =>
  void process.stdout.write(`${what}: ${typeof value === 'number' ? Number(value.toPrecision(3)) : value}\n`)

/** What the server says of itself, and what the system says of its process. */
async function measure(directory: string) {
  const ports = join(directory, 'nats-server', 'ports')
  const [file = ''] = await readdir(ports)
  const pid = /_(\d+)\.ports$/.exec(file)?.[1] ?? ''
  const { monitoring } = JSON.parse(await readFile(join(ports, file), 'utf8')) as { monitoring: [string] }
  const answer = await fetch(`${monitoring[0]}/varz`)
  const { in_msgs, out_msgs, in_bytes, out_bytes } = (await answer.json()) as Record<string, number>
  const times = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? []
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return {
    ...{ in: in_msgs ?? 0, out: out_msgs ?? 0, bytes: (in_bytes ?? 0) + (out_bytes ?? 0) },
    /** Seconds. */
    processor: (Number(times[11]) + Number(times[12])) / 100,
    memory: (Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1_024) / megabyte,
    at: performance.now() / 1_000,
  }
}

async function keepers(hosts: number, perHost: number): Promise<void> {
  const directory = await folder()
  const server = await startNatsServer(directory, monitored)
  const ids = Array.from({ length: hosts * perHost }, (_, index) => `@site/plugin-${index}`)
  let running = 0
  const all = Array.from({ length: hosts }, (_, index) =>
    createLeaseKeeper({
      address: { servers: [server.url], name: `h${index}` },
      ...{ fleet: 'site', host: `h${index}`, clock: systemClock, elapsed: createElapsedTime() },
      ...{ name: { process: `p${index}`, heirOf: null }, logger: silentLogger },
      actions: {
        sessionBegan: () => undefined,
        sessionOver: () => undefined,
        start: () => void (running += 1),
        stop: () => Promise.resolve(void (running -= 1)),
        kill: () => void (running -= 1),
        fence: () => Promise.resolve(),
        flush: () => Promise.resolve(),
        failed: (error) => console.error(error),
      },
    }),
  )
  for (const keeper of all) await keeper.open()
  while (!all.every((keeper) => keeper.maySpeak())) await wait(100)
  const begin = performance.now()
  const wanted = new Map(ids.map((id) => [id, {}]))
  for (const keeper of all) keeper.want(wanted)
  while (running < ids.length) await wait(20)
  const taken = (performance.now() - begin) / 1_000
  // What is moved for balance comes to rest.
  await wait(5_000)
  const before = await measure(directory)
  await wait(20_000)
  const after = await measure(directory)
  const seconds = after.at - before.at
  const name = `${hosts} hosts, ${perHost} plugins each, idle`
  say(`${name}: all taken after, s`, taken)
  say(`${name}: to the store, messages/s`, (after.in - before.in) / seconds)
  say(`${name}: from the store, messages/s`, (after.out - before.out) / seconds)
  say(`${name}: kB/s`, (after.bytes - before.bytes) / seconds / 1_000)
  say(`${name}: processor of the store, %`, ((after.processor - before.processor) / seconds) * 100)
  say(`${name}: memory of the store, MB`, after.memory)
  await Promise.all(all.map((keeper) => keeper.close()))
  await server.stop()
}

async function connections(count: number): Promise<void> {
  const directory = await folder()
  const server = await startNatsServer(directory, monitored)
  const { port, hostname } = new URL(server.url)
  const before = await measure(directory)
  const sockets: Socket[] = []
  for (let index = 0; index < count; index += 1) {
    const socket = connectSocket({ port: Number(port), host: hostname })
    await once(socket, 'data')
    socket.write(`CONNECT {"verbose":false,"name":"x"}\r\nSUB a.${index} 1\r\nSUB b.${index} 2\r\nPING\r\n`)
    await once(socket, 'data')
    socket.on('data', () => socket.write('PONG\r\n'))
    sockets.push(socket)
  }
  await wait(2_000)
  const after = await measure(directory)
  say(`${count} connections: kB each`, ((after.memory - before.memory) * 1_024) / count)
  for (const socket of sockets) socket.destroy()
  await server.stop()
}

/** What the store takes by itself: messages of 250 bytes, on top of what is there. */
async function bareStream(name: string, url: string): Promise<void> {
  const connection = await connectStore({ servers: [url], name: 'bare' })
  const manager = await jetstreamManager(connection)
  const num_replicas = name.startsWith('three') ? 3 : 1
  await manager.streams.add({ name: 'BARE', subjects: ['bare.>'], num_replicas })
  const client = jetstream(connection)
  const data = 'x'.repeat(250)
  for (const [how, workers, count] of [
    ['one after the other', 1, 2_000],
    ['64 at a time', 64, 20_000],
  ] as const) {
    const begin = performance.now()
    let left: number = count
    const one = async (): Promise<void> => {
      while ((left -= 1) >= 0) await client.publish(`bare.${left % 100}`, data)
    }
    await Promise.all(Array.from({ length: workers }, one))
    say(`${name}: bare messages/s, ${how}`, count / ((performance.now() - begin) / 1_000))
  }
  await connection.close()
}

async function openJournalOf(url: string, directory: string): Promise<FleetJournal> {
  const connection = await connectStore({ servers: [url], name: 'figures' })
  return openFleetJournal({
    ...{ connection, fleet: 'site', directory, files: systemFileSystem, clock: systemClock },
    logger: silentLogger,
  })
}

/** What a plugin writes until it runs: as the starter plugins have it. */
function birth(plugin: string): Fact[][] {
  const integrity = { 'init.lua': 'a'.repeat(64), 'plugin.json': 'b'.repeat(64), 'README.md': 'c'.repeat(64) }
  const data = { version: '1.0.0', indexVersion: '1.0.0', repository: 'starter', integrity }
  const config = { topic: `site/floor-2/${plugin}`, interval: 30, unit: '°C', name: 'A room of the building' }
  return [
    [{ type: 'PluginInstallRequested', plugin, data: { repository: 'starter', version: '1.0.0' } }],
    [{ type: 'PluginInstalled', plugin, data }],
    [{ type: 'PluginConfigured', plugin, data: { config } }],
    [{ type: 'PluginEnabled', plugin, data: {} }],
    [{ type: 'PluginLoaded', plugin, data: {} }],
  ]
}

const collect = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

async function journal(
  name: string,
  servers: NatsServer[],
  directory: string,
  plugins: number,
): Promise<void> {
  const url = servers.map((server) => server.url)[0] ?? ''
  await bareStream(name, url)
  const home = await folder()
  const opened = await openJournalOf(url, home)
  const ids = Array.from({ length: plugins }, (_, index) => `@site/plugin-${index}`)
  const [heapBefore, begin] = [collect(), performance.now()]
  const mine = process.cpuUsage()
  let next = 0
  let appended = 0
  const one = async (): Promise<void> => {
    for (let id = ids[next++]; id !== undefined; id = ids[next++]) {
      for (const facts of birth(id)) {
        await opened.append(facts, 'http')
        appended += 1
      }
    }
  }
  await Promise.all(Array.from({ length: 64 }, one))
  const seconds = (performance.now() - begin) / 1_000
  const used = process.cpuUsage(mine)
  say(`${name}: appends/s, 64 at a time`, appended / seconds)
  say(`${name}: processor of the host an append, µs`, (used.user + used.system) / appended)
  say(`${name}: heap of the fold, kB a plugin`, (collect() - heapBefore) / 1_024 / plugins)
  const manager = await jetstreamManager(await connectStore({ servers: [url], name: 'witness' }))
  const { state } = await manager.streams.info('LUPINE_site_JOURNAL')
  say(`${name}: events`, state.messages)
  say(`${name}: bytes of an event in the stream`, state.bytes / state.messages)
  const single = performance.now()
  for (let index = 0; index < 500; index += 1)
    await opened.append(
      [{ type: 'PluginLimitReached', plugin: ids[0] ?? '', data: { limit: 'timers', value: index } }],
      'supervisor',
    )
  say(`${name}: appends/s, one after the other`, 500 / ((performance.now() - single) / 1_000))
  await opened.close()
  const sizes = async (file: string) => (await stat(join(home, file))).size
  say(`${name}: bytes of the copy an event`, (await sizes('.host.journal').catch(() => 0)) / state.messages)
  say(`${name}: bytes of the checkpoint a plugin`, (await sizes('.host.checkpoint').catch(() => 0)) / plugins)
  for (const [what, place] of [
    ['with its copy', home],
    ['without', await folder()],
  ] as const) {
    const start = performance.now()
    const again = await openJournalOf(url, place)
    say(`${name}: opened ${what}, ms`, performance.now() - start)
    await again.close()
  }
  if (directory !== '') say(`${name}: memory of the store, MB`, (await measure(directory)).memory)
}

const wanted = process.argv.slice(2)
const isWanted = (name: string): boolean => wanted.length === 0 || wanted.includes(name)
try {
  if (isWanted('keepers')) {
    await keepers(3, 34)
    await keepers(10, 10)
    await keepers(30, 10)
  }
  if (isWanted('connections')) await connections(2_000)
  if (isWanted('journal')) {
    const directory = await folder()
    const server = await startNatsServer(directory, monitored)
    await journal('one server', [server], directory, 4_000)
    await server.stop()
  }
  if (isWanted('cluster')) {
    const servers = await startNatsCluster(await folder())
    await wait(3_000)
    await journal('three servers', servers, '', 1_000)
    for (const server of servers) await server.stop()
  }
} finally {
  for (const made of openFiles) await rm(made, { recursive: true, force: true })
}
process.exit(0)
