import assert from 'node:assert/strict'
import { connectAsync } from 'mqtt'
import { collect } from '../../bus/bus-fixture.ts'
import { untilOnDisk } from '../../bus/kept-bus.ts'
import { type LaunchedProcess, launchHostProcess } from '../../helpers/host-process.ts'
import { until } from '../../helpers/until.ts'
import type { SmallDisk } from './scenario.ts'

/** What clients retain while the disk is full goes on in memory, is told, and is on disk when there is room. */
export async function fillUpBroker(disk: SmallDisk, note: (line: string) => void): Promise<void> {
  const { data } = disk
  let host = launchHostProcess(data)
  try {
    await retain(host, 'first', 'before')
    await untilOnDisk(data, 'retained/first')
    await disk.fill(host)
    // A last page takes the first of them, and the broker writes a moment later.
    let count = 0
    await until('the broker to say that it cannot write', async () => {
      count += 1
      await retain(host, `while/full/${count % 200}`, 'x'.repeat(4096))
      return (await broughtUp(host, disk)) !== undefined
    })
    await retain(host, 'first', 'while it is full')
    await retain(host, 'last', 'while it is full')
    assert.equal(await retainedAt(host, 'last'), 'while it is full')
    assert.match(host.output(), /"level":"error".*What the broker keeps cannot be written to disk/)
    note((await broughtUp(host, disk)) ?? '')

    await disk.makeRoom(host)
    await until('nothing to be wrong any more', async () => (await broughtUp(host, disk)) === undefined)
    await host.stop('SIGKILL')

    // Started while it is full, it has what it had as soon as it can read it.
    await disk.fill(host)
    host = launchHostProcess(data, { within: disk.within() })
    const waits = host.said('waits for room')
    await Promise.race([host.ready, waits])
    note(host.output().includes('waits for room') ? 'the start waited for room' : 'the start found room')
    await disk.makeRoom(host)
    await host.ready
    await until('nothing to be wrong any more', async () => (await broughtUp(host, disk)) === undefined)
    for (const topic of ['first', 'last']) assert.equal(await retainedAt(host, topic), 'while it is full')
    assert.equal(await host.stop('SIGTERM'), 0)
  } finally {
    await host.stop('SIGKILL')
  }
}

async function retain(host: LaunchedProcess, topic: string, payload: string): Promise<void> {
  const client = await connectAsync(String((await host.ready).mqtt))
  await client.publishAsync(topic, payload, { qos: 1, retain: true })
  await client.endAsync()
}

async function retainedAt(host: LaunchedProcess, topic: string): Promise<string | undefined> {
  const client = await connectAsync(String((await host.ready).mqtt))
  const received = collect(client)
  await client.subscribeAsync(topic, { qos: 1 })
  const [message] = await received.take(1)
  await client.endAsync()
  return message?.text
}

/** What `/readyz` says of the broker's folder. */
async function broughtUp(host: LaunchedProcess, { words }: SmallDisk): Promise<string | undefined> {
  const answer = await fetch(`${String((await host.ready).http)}/readyz`)
  const { reasons } = (await answer.json()) as { reasons: string[] }
  const reason = reasons.find((one) => one.startsWith('what the broker keeps cannot be written'))
  assert.equal(answer.status, reasons.length === 0 ? 200 : 503)
  if (reason !== undefined) assert.match(reason, words)
  return reason
}
