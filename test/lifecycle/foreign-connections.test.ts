import assert from 'node:assert/strict'
import { test } from 'node:test'
import { installAndStart, logMessages, startHostFor } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'
import { startWebServer } from '../outside/web-server.ts'

/** A plugin opens connections of each kind through the instance of one that may: it may itself, or there is none. */

const places = { serial: ['/dev/not-there'], discovery: ['_http._tcp', 'ssdp:all'] }

/** Listens to no end, so that the log of the owner has it. */
const caller = (id: string, port: number, permissions: object) => ({
  id,
  manifest: { permissions: { plugins: ['@fixtures/owner'], ...permissions } },
  lua: `
    local plugin = Plugin:new("${id}")
    plugin:onInit(function()
      local owner = Plugin.get("owner")
      local once = { reconnect = false }
      owner:tcpConnect("127.0.0.1", ${port}, once)
      owner:webSocket("ws://127.0.0.1:${port}/", once)
      owner:httpStream({ url = "http://127.0.0.1:${port}/", reconnect = false })
      owner:discover("_http._tcp", print, once)
      owner:discoverSsdp("ssdp:all", print, once)
      owner:serialPort("/dev/not-there", once)
    end)
  `,
})

test('what a plugin may not connect to it does not through the instance of another one, over whatever it is', async (t) => {
  const web = await startWebServer((_seen, response) => response.writeHead(404).end())
  t.after(() => web.close())
  const all = { hosts: ['127.0.0.1'], ...places }
  const host = await startHostFor(t, {
    plugins: [
      { id: 'owner', lua: 'Plugin:new("owner")', manifest: { permissions: all } },
      caller('guest', web.port, {}),
      caller('friend', web.port, all),
    ],
  })
  await installAndStart(host, 'owner')
  const lines = (): Promise<string[]> => logMessages(host, 'owner')
  await installAndStart(host, 'guest')
  const told = await until('all refusals', async () => {
    const found = await lines()
    // Each is judged in its order, but for the stream.
    return (
      ['serialPort', 'httpStream'].every((method) => found.some((line) => line.startsWith(method))) && found
    )
  })
  const refused = (method: string, deed: string, value: string, place: string): string =>
    `${method}: the manifest of @fixtures/guest does not allow it to ${deed} "${value}"; add "${value}" to permissions.${place}`
  assert.deepEqual(
    told.sort(),
    [
      refused('tcpConnect', 'connect to', '127.0.0.1', 'hosts'),
      refused('webSocket', 'connect to', '127.0.0.1', 'hosts'),
      refused('httpStream', 'connect to', '127.0.0.1', 'hosts'),
      refused('discover', 'look on the network for', '_http._tcp', 'discovery'),
      refused('discoverSsdp', 'look on the network for', 'ssdp:all', 'discovery'),
      refused('serialPort', 'use the serial port', '/dev/not-there', 'serial'),
    ].sort(),
  )
  assert.deepEqual(web.seen, [])
  await installAndStart(host, 'friend')
  await until('what comes of the others', async () => {
    const found = (await lines()).slice(told.length)
    assert.deepEqual(
      found.filter((line) => line.includes('does not allow')),
      [],
    )
    return (
      web.seen.length > 0 &&
      ['webSocket', 'serialPort'].every((method) => found.some((line) => line.startsWith(method)))
    )
  })
})
