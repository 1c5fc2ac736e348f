import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createMosquitto } from '../test/bus/mosquitto.ts'
import { writeFixtureRepository } from '../test/helpers/fixture-repository.ts'
import { launchHostProcess } from '../test/helpers/host-process.ts'
import { startNatsServer } from '../test/helpers/nats-server.ts'
import { temporaryDirectory } from '../test/helpers/temporary-directory.ts'

/**
 * Commands a second of one fleet, over all its hosts: `npm run build && node --import tsx --test bench/fleet-commands.ts`.
 * Three hosts of the built program, a real nats-server and a real Mosquitto share the machine with the callers, who configure 48
 * plugins over HTTP, each command by way of the next host; so two of three are passed on to the host that has the plugin.
 */

const hostCount = 3
const pluginCount = 48
/** Commands under way at once, and milliseconds for each of these. */
const widths = [16, 32, 64]
const duration = 6_000
/** Milliseconds after which plugins have been given to the hosts. */
const settling = 6_000

const agent = new Agent({ keepAlive: true, maxSockets: 200 })

function post(base: string, path: string, body: object): Promise<void> {
  return new Promise((resolve, reject) => {
    const url = new URL(path, base)
    const headers = { 'content-type': 'application/json' }
    const sent = request(url, { agent, method: 'POST', headers }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk: string) => (text += chunk))
      answer.on('end', () => {
        if ((answer.statusCode ?? 500) < 300) resolve()
        else reject(new Error(`${path}: ${text}`))
      })
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(body))
  })
}

void test('commands a second of a fleet', async (context) => {
  const folder = await temporaryDirectory(context)
  const store = await startNatsServer(await temporaryDirectory(context))
  context.after(() => store.stop())
  const mosquitto = await createMosquitto(context)
  await mosquitto.start()
  const shortIds = Array.from({ length: pluginCount }, (_, index) => `p${index}`)
  const repository = join(folder, 'repository')
  await writeFixtureRepository(
    repository,
    shortIds.map((id) => ({ id, lua: `return Plugin:new("${id}", {})` })),
  )
  const key = join(folder, 'key')
  await writeFile(key, randomBytes(32).toString('base64'), { mode: 0o600 })
  const urls: string[] = []
  for (let index = 0; index < hostCount; index += 1) {
    const host = launchHostProcess(join(folder, `h${index}`), {
      environment: {
        HOST_ID: `h${index}`,
        HOST_FLEET: 'bench',
        HOST_FLEET_URL: store.url,
        HOST_MQTT_URL: mosquitto.url,
        HOST_SECRET_KEY_FILE: key,
      },
    })
    context.after(() => host.stop('SIGTERM'))
    urls.push(String((await host.ready).http))
  }
  const urlOf = (index: number): string => urls[index % urls.length] ?? ''
  await post(urlOf(0), '/api/repositories', { name: 'fixtures', url: repository })
  const ids = shortIds.map((id) => `@fixtures/${id}`)
  await Promise.all(ids.map((fullId) => post(urlOf(0), '/api/plugins/install', { fullId })))
  await wait(settling)
  for (const width of widths) {
    const begin = performance.now()
    const times: number[] = []
    async function keepOn(caller: number): Promise<void> {
      for (let turn = 0; performance.now() - begin < duration; turn += 1) {
        const id = ids[(caller + turn * width) % ids.length] ?? ''
        const sent = performance.now()
        const config = { n: `${caller} ${turn}` }
        await post(urlOf(caller + turn), `/api/plugins/${encodeURIComponent(id)}/config`, { config })
        times.push(performance.now() - sent)
      }
    }
    await Promise.all(Array.from({ length: width }, (_, caller) => keepOn(caller)))
    const seconds = (performance.now() - begin) / 1_000
    times.sort((left, right) => left - right)
    const [p50, p99] = [0.5, 0.99].map((part) => Math.round(times[Math.floor(times.length * part)] ?? 0))
    context.diagnostic(
      `${width} at a time: ${Math.round(times.length / seconds)} a second, p50 ${p50} ms, p99 ${p99} ms`,
    )
  }
  agent.destroy()
})
