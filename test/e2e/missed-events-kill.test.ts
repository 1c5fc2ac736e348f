import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collect, connect } from '../bus/bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from '../bus/mosquitto.ts'
import { launchHostProcess } from '../helpers/host-process.ts'
import { createTcpProxy } from '../helpers/tcp-proxy.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { until } from '../helpers/until.ts'

test(
  'kill -9 of a host whose broker is away: when both are back the broker is told of every event, in order',
  { skip: mosquittoMissing },
  async (context) => {
    const directory = await temporaryDirectory(context)
    const mosquitto = await startMosquitto(context)
    const way = await createTcpProxy(context, mosquitto.url)
    const received = collect(await connect(context, mosquitto.url).then(listening))
    const numbers = (): number[] => received.all.map(({ text }) => JSON.parse(text).seq)

    async function start() {
      const environment = { HOST_MQTT_URL: `mqtt://127.0.0.1:${way.port}` }
      const launched = launchHostProcess(directory, { environment })
      context.after(() => launched.stop('SIGKILL'))
      const http = String((await launched.ready).http)
      const send = async (path: string, body: object) => {
        const headers = { 'content-type': 'application/json' }
        const answer = await fetch(http + path, { method: 'POST', headers, body: JSON.stringify(body) })
        assert.ok(answer.ok, `${path}: ${answer.status}`)
      }
      const lastSeq = async () => Number((await fetch(`${http}/api/history?limit=1`)).headers.get('last-seq'))
      return { ...launched, send, lastSeq }
    }

    // Before it has ever heard of the broker, too: that the first start is told does not hang on its end.
    way.refuse()
    const first = await start()
    await first.send('/api/plugins/install', { fullId: '@starter/sun' })
    await first.stop('SIGKILL')
    way.pass()
    const second = await start()
    await until('all until now', async () => numbers().at(-1) === (await second.lastSeq()))
    way.refuse()
    for (let count = 0; count < 60; count += 1)
      await second.send('/api/plugins/@starter/sun/config', { config: { latitude: count, longitude: 0 } })
    const lastOfSecond = await second.lastSeq()
    await second.stop('SIGKILL')
    way.pass()
    const third = await start()
    await until('all of the third', async () => numbers().at(-1) === (await third.lastSeq()))
    assert.ok(lastOfSecond > 60)
    const heard = numbers()
    // What the broker has taken just before a kill may come again, and what follows with it; but nothing is missing.
    const anew = heard.filter((seq, index) => seq > Math.max(0, ...heard.slice(0, index)))
    assert.deepEqual(
      anew,
      Array.from({ length: await third.lastSeq() }, (_, index) => index + 1),
    )

    assert.equal(await third.stop('SIGTERM'), 0)
    const before = numbers().length
    const fourth = await start()
    await until('all of the fourth', async () => numbers().at(-1) === (await fourth.lastSeq()))
    const after = numbers()
    const last = after.at(-1) ?? 0
    assert.deepEqual(
      after.slice(before),
      Array.from({ length: after.length - before }, (_, index) => last - after.length + before + index + 1),
    )
  },
)

async function listening(client: Awaited<ReturnType<typeof connect>>) {
  await client.subscribeAsync('host/lifecycle', { qos: 1 })
  return client
}
