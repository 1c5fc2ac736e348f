import assert from 'node:assert/strict'
import { readdirSync, readlinkSync } from 'node:fs'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { startTestHost } from './helpers/test-host.ts'
import { until } from './helpers/until.ts'

/** What the process holds: open files and sockets by what they are, and what keeps its event loop alive. */
function held(): { files: string[]; handles: string[] } {
  const files = readdirSync('/proc/self/fd').flatMap((number) => {
    try {
      // Pipes and sockets have numbers of their own; their kind is what counts.
      return [readlinkSync(`/proc/self/fd/${number}`).replace(/:\[\d+\]$/, '')]
    } catch {
      // The descriptor that the listing itself used.
      return []
    }
  })
  return { files: files.sort(), handles: process.getActiveResourcesInfo().sort() }
}

async function settle(): Promise<void> {
  // Sockets that were destroyed leave the event loop in its closing phase.
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

async function cycle(): Promise<void> {
  const host = await startTestHost()
  const client = await connectAsync(host.mqttUrl)
  try {
    await client.subscribeAsync('host/#')
    const body = { fullId: '@fixtures/demo' }
    assert.equal((await host.request('POST', '/api/plugins/install', { body })).status, 201)
    assert.equal((await host.request('POST', '/api/plugins/demo/toggle')).body.state, 'running')
    const control = await host.request('PUT', '/api/plugins/demo/controls/level', { body: { value: 3 } })
    assert.equal(control.status, 200)
    const events = await fetch(`${host.url}/api/events`)
    assert.equal(events.status, 200)
  } finally {
    await client.endAsync(true)
    await host.close()
  }
}

/** `cycles`: how often the host is started, used and closed. */
export function testLeftovers(cycles: number): void {
  test(`a host that is started, used and closed ${cycles} times leaves no handle, worker, listener or open file`, async () => {
    // The first time loads modules and fills caches that stay, some of them behind the back of whoever needs them.
    await cycle()
    await until(
      'the first time to be over',
      async () => !process.getActiveResourcesInfo().includes('FSReqCallback'),
    )
    await settle()
    const before = held()
    for (let count = 0; count < cycles; count += 1) await cycle()
    await settle()
    assert.deepEqual(held(), before)
  })
}
