import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { WebSocketServer } from 'ws'
import { writeFixtureRepository } from '../helpers/fixture-repository.ts'
import { launchHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { startWebServer } from '../outside/web-server.ts'

/** What the built program loads when a plugin first needs it: a bundle may name things otherwise than the modules do. */

test('a plugin of the built program gets answers, events and messages from outside', async (context) => {
  const server = await startWebServer(({ target }, response) => {
    if (target === '/events') response.setHeader('Content-Type', 'text/event-stream')
    response.end(target === '/events' ? 'data: event\n\n' : 'answer')
  })
  context.after(() => server.close())
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  context.after(() => sockets.close())
  sockets.on('connection', (socket) => socket.send('message'))
  await once(sockets, 'listening')
  const socketPort = (sockets.address() as { port: number }).port

  const folder = await temporaryDirectory(context)
  const repository = join(folder, 'repository')
  const data = join(folder, 'data')
  await mkdir(data)
  await writeFixtureRepository(repository, [
    {
      id: 'asker',
      lua: `local plugin = Plugin:new("asker")
        plugin:onInit(function()
          plugin:httpRequest({ url = "${server.url}/" }, function(answer, err) print("got " .. (err or answer.body)) end)
          plugin:httpStream({ url = "${server.url}/events", reconnect = false }, {
            onEvent = function(event) print("got " .. event.data) end,
          })
          plugin:webSocket("ws://127.0.0.1:${socketPort}/", { reconnect = false })
            :onMessage(function(data) print("got " .. data) end)
        end)`,
    },
  ])
  const hostFile = {
    repositories: [{ name: 'fixtures', url: repository }],
    plugins: { installed: [{ id: '@fixtures/asker', enabled: true, config: {} }] },
  }
  await writeFile(join(data, '.host.json'), JSON.stringify(hostFile))
  const host = launchHostProcess(data)
  context.after(() => host.stop('SIGKILL'))
  for (const what of ['answer', 'event', 'message']) await host.said(`got ${what}`)
  assert.equal(await host.stop('SIGTERM'), 0)
})
