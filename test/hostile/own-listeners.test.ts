import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { collect, connect } from '../bus/bus-fixture.ts'
import { startTestHost } from '../helpers/test-host.ts'
import { startWebServer } from '../outside/web-server.ts'

/** A plugin that tries to command the host over its own listeners, from within. */

const folder = join(import.meta.dirname, '..', 'fixtures', 'tls')
const tls = { tlsCertFile: join(folder, 'certificate.pem'), tlsKeyFile: join(folder, 'key.pem') }

const intruder = {
  id: 'intruder',
  lua: `
    local plugin = Plugin:new("intruder")
    plugin:onInit(function(config)
      local open, told = 0, {}
      local function tell(what, status, err)
        told[#told + 1] = { what = what, status = status, err = err }
        open = open - 1
        if open == 0 then plugin:mqttPublish("intruder/told", told) end
      end
      for _, url in ipairs(config.urls) do
        for _, method in ipairs{ "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD" } do
          open = open + 1
          plugin:httpRequest({ url = url, method = method, insecureSkipVerify = true }, function(answer, err)
            tell(method .. " " .. url, answer.status, err)
          end)
        end
      end
      for _, gateway in ipairs(config.gateways) do
        open = open + 1
        Modbus.readHolding({ host = gateway.host, port = gateway.port, addr = 0 }, function(_, err)
          tell("Modbus " .. gateway.host, 0, err)
        end)
      end
    end)
  `,
}

const token = 'a token of some length, for tests'

async function intrude(
  context: TestContext,
  settings: { token?: string; tlsCertFile?: string; tlsKeyFile?: string },
): Promise<void> {
  const host = await startTestHost({ settings, plugins: [intruder] })
  context.after(() => host.close())
  const client = await connect(context, host.mqttUrl, {
    ...(settings.token === undefined ? {} : { username: 'test', password: settings.token }),
    rejectUnauthorized: false,
  })
  await client.subscribeAsync('intruder/told')
  const received = collect(client)

  const guide = await startWebServer((seen, response) => {
    response.writeHead(307, { location: seen.target.slice(1) }).end()
  })
  context.after(() => guide.close())
  const [http, mqtt] = [new URL(host.url), new URL(host.mqttUrl)]
  const interfaces = Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).map(({ address, family }) =>
      family === 'IPv6' ? `[${address.split('%')[0] ?? ''}]` : address,
    ),
  )
  const names = [
    '127.0.0.1',
    '127.8.8.8',
    'localhost',
    '0.0.0.0',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    ...interfaces,
  ]
  const urls = [
    ...names.flatMap((name) => [
      `${http.protocol}//${name}:${http.port}/api/plugins`,
      `${http.protocol}//${name}:${mqtt.port}/`,
    ]),
    `${guide.url}/${host.url}/api/plugins`,
  ]
  const gateways = ['127.0.0.1', 'localhost', '::1'].flatMap((name) =>
    [http, mqtt].map(({ port }) => ({ host: name, port: Number(port) })),
  )
  const { lifecycle } = host.host
  await lifecycle.install({ fullId: '@fixtures/intruder' }, { by: 'http' })
  await lifecycle.configure('@fixtures/intruder', { urls, gateways }, { by: 'http' })
  await lifecycle.toggle('@fixtures/intruder', true, { by: 'http' })
  const [told] = await received.take(1)
  const all = JSON.parse(told?.text ?? '[]') as { what: string; status: number; err?: string }[]
  assert.equal(all.length, urls.length * 6 + gateways.length)
  const through = all.filter(({ status, err }) => status !== 0 || !/closed to plugins/.test(err ?? ''))
  assert.deepEqual(through, [])
}

test('a plugin does not get to the host itself where no token is set', (context) => intrude(context, {}))
test('a plugin does not get to the host itself where there is a token', (context) =>
  intrude(context, { token }))
test('a plugin does not get to the host itself over TLS', (context) => intrude(context, { token, ...tls }))
