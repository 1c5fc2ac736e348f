import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { systemClock } from '../../../src/base/time/clock.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { createLeaseStore, leaseBuckets } from '../../../src/fleet/leases/lease-store.ts'
import type { LeaseRecord } from '../../../src/fleet/leases/records.ts'
import { connectTo, startStoreCluster } from '../../helpers/nats-server.ts'
import { until } from '../../helpers/until.ts'

const plugin = '@a/p'
const stream = `KV_${leaseBuckets('home').leases}`

/** What a host sees of the leases that others write, over a connection to these servers. */
async function openStore(context: TestContext, servers: string[]) {
  const errors: Error[] = []
  const seen = { revision: 0 }
  const store = createLeaseStore({
    ...{ address: { servers, name: 'test' }, fleet: 'home', clock: systemClock, logger: silentLogger },
    hostSeen: () => undefined,
    leaseSeen: (_plugin, _record, revision) => void (seen.revision = revision),
    failed: (error) => void errors.push(error),
  })
  context.after(() => store.close())
  await store.open()
  return { store, seen, errors }
}

test('leases are seen to change when the server dies that handed them out', async (context) => {
  const servers = await startStoreCluster(context)
  const urls = servers.map(({ url }) => url)
  const connection = await connectTo(context, ...urls)
  // The servers have to find each other first.
  const writer = await until('the servers', () => openStore(context, urls).catch(() => undefined))
  const manager = await jetstreamManager(connection)
  const record: LeaseRecord = { host: 'h1', session: '0-x1-0', epoch: 1 }

  /** Who hands the leases out to each of those that read them, by its name; undefined: the servers do not agree on that yet. */
  async function handingOut(): Promise<Map<string, string | undefined>> {
    const found = await manager.consumers.list(stream).next()
    return new Map(found.map(({ cluster, name }) => [name, cluster?.leader]))
  }
  let attempt = 0
  /** Its connection is to one server, and another one hands out the leases. */
  const { reader, name } = await until('a reader', async () => {
    // The store may have the same one hand them out each time.
    const home = attempt++ % servers.length
    const before = await handingOut()
    const opened = await openStore(context, [urls[home] ?? ''])
    const leader = await until('its server', async () => {
      const own = [...(await handingOut())].find(([name]) => !before.has(name))
      return own?.[1]
    })
    if (leader !== `n${home}`) return { reader: opened, name: leader }
    await opened.store.close()
    return undefined
  })
  const server = servers[Number(name.slice(1))]
  assert.ok(server !== undefined)
  const begin = performance.now()
  await server.stop('SIGKILL')
  await until('a lease to be taken', async () => {
    writer.store.writeLease(plugin, record, writer.seen.revision)
    return writer.seen.revision > 0
  })
  const written = performance.now()
  await until('the lease to be seen', async () => reader.seen.revision >= writer.seen.revision, 20_000)
  context.diagnostic(`taken after ${written - begin} ms, seen ${performance.now() - written} ms later`)
  assert.deepEqual([...reader.errors, ...writer.errors], [])
})
