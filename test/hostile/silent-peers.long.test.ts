import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import { defaultPluginLimits } from '../../src/schema/plugin/plugin-limits.ts'
import { until } from '../helpers/until.ts'
import { type Isolation, startStage } from './stage.ts'

interface SilentServer {
  port: number
  /** Connections that are open, and how many there have been. */
  open: number
  seen: number
}

/** Accepts connections, in a process of its own, and never says anything. */
async function startSilentServer(t: TestContext): Promise<SilentServer> {
  const program = `
    let open = 0, seen = 0
    const say = () => console.log(JSON.stringify({ port: server.address().port, open, seen }))
    const server = require('node:net').createServer((socket) => {
      open += 1
      seen += 1
      say()
      socket.on('error', () => {})
      socket.on('close', () => { open -= 1; say() })
      socket.resume()
    }).listen(0, '127.0.0.1', say)`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  const server = { port: 0, open: 0, seen: 0 }
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => Object.assign(server, JSON.parse(line)))
  await once(lines, 'line')
  return server
}

const { sockets, httpRequests } = defaultPluginLimits
/** More than are under way at one time: the others wait. */
const requests = 100

/** Each opens as many as it may, again and again where one is given up; so many are open at one time. */
const ways: [name: string, times: number, open: number, lua: (port: number) => string][] = [
  [
    'tcp with TLS',
    sockets,
    sockets,
    (port) =>
      `plugin:tcpConnect("127.0.0.1", ${port}, { tls = true, timeout = 1000, reconnect = { min = 50, max = 50 } })`,
  ],
  [
    'webSocket',
    sockets,
    sockets,
    (port) => `plugin:webSocket("ws://127.0.0.1:${port}/", { reconnect = { min = 50, max = 50 } })`,
  ],
  [
    'httpStream',
    sockets,
    sockets,
    (port) =>
      `plugin:httpStream({ url = "http://127.0.0.1:${port}/", timeout = 1000, reconnect = { min = 50, max = 50 } }, {})`,
  ],
  [
    'httpRequest',
    requests,
    httpRequests,
    (port) => `
      local function ask()
        plugin:httpRequest({ url = "http://127.0.0.1:${port}/", timeout = 1000 }, ask)
      end
      ask()`,
  ],
]

const isolations: Isolation[] = ['dedicated', 'shared']
for (const isolation of isolations)
  for (const [name, times, open, lua] of ways)
    test(`who waits for peers that accept and never answer holds up nobody, and leaves nothing: ${name} (${isolation})`, async (t) => {
      const server = await startSilentServer(t)
      const stage = await startStage(
        t,
        [
          {
            id: 'waiter',
            lua: `plugin:onInit(function() for i = 1, ${times} do ${lua(server.port)} end print("all asked") end)`,
          },
        ],
        {},
        isolation,
      )
      await stage.witness(async (enough) => {
        const before = server.seen
        assert.equal((await stage.enable('waiter')).state, 'running')
        await stage.logged('waiter', 'all asked')
        await until('all of them have been accepted', async () => server.seen - before >= open)
        await enough
        const begun = performance.now()
        await stage.disable('waiter')
        // There is nobody to wait for.
        const took = performance.now() - begun
        assert.ok(took < 5_000, `it took ${took} ms to end`)
        await until('all of them are closed', async () => server.open === 0)
      })
    })
