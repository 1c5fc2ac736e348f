import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startMdnsResponder, testNetwork } from '../helpers/multicast-responders.ts'
import { logMessages, startHostFor } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'

const lua = (id: string): string => `local plugin = Plugin:new("${id}")
  plugin:onInit(function()
    plugin:discover("_shelly._tcp", function(found)
      print(found.gone and "gone" or "there", found.name)
      if found.gone then return end
      plugin:tcpConnect(found.addresses[1], found.port, { reconnect = false }):onClose(function(err) print("tcp", err) end)
    end)
    plugin:discover("_http._tcp", print):onClose(function(err) print("refused", err) end)
  end)`

for (const isolation of ['dedicated', 'shared'] as const)
  test(`plugins that look for the same share what is found, as far as they may, and leave nothing behind (${isolation})`, async (t) => {
    const discovery = await testNetwork()
    const responder = await startMdnsResponder(t, discovery.ports.discovery)
    const lamp = { type: '_shelly._tcp', name: 'lamp', address: '127.0.0.1', port: 1 }
    responder.announce(lamp)
    const permissions = { discovery: ['_shelly._tcp'] }
    const ids = ['one', 'two']
    const host = await startHostFor(t, {
      discovery,
      settings: { isolation },
      plugins: ids.map((id) => ({ id, lua: lua(id), manifest: { permissions } })),
    })
    const path = (id: string): string => `/api/plugins/@fixtures/${id}`
    const said = async (id: string, text: string): Promise<string> =>
      until(`${id}: ${text}`, async () => {
        const messages = await logMessages(host, `@fixtures/${id}`)
        return messages.find((message) => message.includes(text))
      })
    for (const id of ids) {
      await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${id}` } })
      await host.request('POST', `${path(id)}/toggle`, { body: { enabled: true } })
      await said(id, 'there\tlamp')
      // What is found is no permission to connect to it.
      assert.match(await said(id, 'tcp\t'), /add "127\.0\.0\.1" to permissions\.hosts$/)
      assert.match(await said(id, 'refused\t'), /add "_http\._tcp" to permissions\.discovery$/)
    }
    const { body } = await host.request('GET', path('two'))
    assert.deepEqual(
      body.connections.map((view: Record<string, unknown>) => [view.kind, view.target, view.state]),
      [['discovery', '_shelly._tcp', 'open']],
    )
    await until('the count', async () => {
      const metrics = await host.request('GET', '/metrics')
      return /lupine_plugin_resources{plugin="@fixtures\/two",resource="discoveries"} 1/.test(metrics.body)
    })
    await host.request('POST', `${path('one')}/toggle`, { body: { enabled: false } })
    responder.withdraw(lamp)
    await said('two', 'gone\tlamp')
    const off = await host.request('POST', `${path('two')}/toggle`, { body: { enabled: false } })
    assert.deepEqual([off.body.connections, off.body.resources.discoveries], [undefined, 0])
  })
