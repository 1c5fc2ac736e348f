import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import { slowdownWhileCollecting } from './measure.ts'
import { type Isolation, startStage } from './stage.ts'

/** Asks without end, in a process of its own, as many at a time as said. `answered` counts. */
async function startFlood(t: TestContext, url: string, atOnce: number): Promise<{ end(): Promise<number> }> {
  const program = `
    const { Agent, request } = require('node:http')
    const agent = new Agent({ keepAlive: true, maxSockets: ${atOnce} })
    const body = Buffer.alloc(20000, 'x')
    let answered = 0
    const ask = () => {
      const asked = request(${JSON.stringify(url)}, { agent, method: 'POST' }, (answer) => {
        answer.resume()
        answer.on('close', () => { answered += 1; ask() })
      })
      asked.on('error', () => setImmediate(ask))
      asked.end(body)
    }
    for (let count = 0; count < ${atOnce}; count += 1) ask()
    process.stdin.on('data', () => { console.log(answered); process.exit() })
    console.log('asking')`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  const lines = createInterface({ input: child.stdout })
  await once(lines, 'line')
  return {
    async end() {
      const said = once(lines, 'line') as Promise<[string]>
      child.stdin.write('\n')
      const [line] = await said
      return Number(line)
    },
  }
}

const handlers: [title: string, lua: string][] = [
  ['answers at once', 'function(request) return tostring(#request.body) end'],
  [
    'answers later',
    'function(request, respond) plugin:setTimeout(50, function() respond(200, "later") end) end',
  ],
  ['answers with much', 'function() return ("x"):rep(500000) end'],
]

const isolations: Isolation[] = ['dedicated', 'shared']
for (const isolation of isolations)
  for (const [title, handler] of handlers)
    test(`a flood of requests from outside to a plugin that ${title} holds up nobody (${isolation})`, async (t) => {
      const stage = await startStage(
        t,
        [
          {
            id: 'asked',
            lua: `plugin:onInit(function() plugin:httpHandler("x", ${handler}, { auth = "none" }) end)`,
          },
        ],
        {},
        isolation,
      )
      await stage.witness(async (enough) => {
        assert.equal((await stage.enable('asked')).state, 'running')
        const flood = await startFlood(t, `${stage.host.url}/hooks/fixtures/asked/x`, 50)
        await enough
        const answered = await flood.end()
        assert.ok(answered > 20, `${answered} requests were answered`)
        await stage.disable('asked')
      }, slowdownWhileCollecting)
    })
