import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Json } from '../../src/base/text/json.ts'
import { type StarterPlugin, startStarterPlugin } from '../../test/helpers/starter-plugin.ts'
import { startWebServer, type WebServer } from '../../test/outside/web-server.ts'

/** A message that never comes is a failure, not a wait without end. */
const timeout = 30_000

interface Stage {
  server: WebServer
  plugin: StarterPlugin
  /** What the server answers, by path; others are 404. */
  documents: Record<string, Json>
  status(wanted: (status: any) => boolean): Promise<any>
}

/** `values` gets the server's address for every `@`. */
async function start(
  context: TestContext,
  documents: Record<string, Json>,
  values: string,
  config: Record<string, Json> = {},
): Promise<Stage> {
  const stage = { documents } as Stage
  stage.server = await startWebServer(({ target }, response) => {
    const document = stage.documents[target]
    response.writeHead(document === undefined ? 404 : 200).end(JSON.stringify(document ?? null))
  })
  context.after(() => stage.server.close())
  const all = { values: values.replaceAll('@', stage.server.url), ...config }
  stage.plugin = await startStarterPlugin('http-sensor', all)
  context.after(() => stage.plugin.close())
  stage.status = async (wanted) => {
    const inbox = await stage.plugin.listen(`${stage.plugin.topic}/objects/status`)
    for (;;) {
      const status = await inbox.nextValue()
      if (wanted(status)) return status
    }
  }
  return stage
}

async function valueOf({ plugin }: Stage, id: string, wanted: (value: unknown) => boolean): Promise<unknown> {
  const inbox = await plugin.listen(`${plugin.topic}/sensors/${id}`)
  for (;;) {
    const value = await inbox.nextValue()
    if (wanted(value)) return value
  }
}

test(
  'what is counted up is that for Home Assistant, and all else with a unit is measured',
  { timeout },
  async (context) => {
    const values = [
      { id: 'energy', url: 'http://127.0.0.1:9/', path: 'a', unit: 'kWh', class: 'energy' },
      { id: 'power', url: 'http://127.0.0.1:9/', path: 'b', unit: 'W' },
      { id: 'state', url: 'http://127.0.0.1:9/', path: 'c' },
    ]
    const home = { discoveryPrefix: 'homeassistant' }
    const plugin = await startStarterPlugin('http-sensor', { values }, home)
    context.after(() => plugin.close())
    const inbox = await plugin.listen('homeassistant/device/+/config')
    const { cmps } = (await inbox.nextValue()) as { cmps: Record<string, Record<string, unknown>> }
    const classes = Object.values(cmps).map((shown) => [shown['name'], shown['state_class']])
    assert.deepEqual(Object.fromEntries(classes.slice(0, 3)), {
      energy: 'total_increasing',
      power: 'measurement',
      state: undefined,
    })
  },
)

test(
  'of two documents that differ in the query alone the one that fails is told of, once, however the other one is',
  { timeout },
  async (context) => {
    const rows = 'a = @/meter?of=1 power\nb = @/meter?of=2 power'
    const stage = await start(context, { '/meter?of=2': { power: 7 } }, rows)
    const problem = `${stage.server.url}/meter: HTTP 404`
    await stage.status(({ first }) => first === problem)
    await valueOf(stage, 'b', (value) => value === 7)
    for (let reading = 8; reading < 10; reading += 1) {
      stage.documents['/meter?of=2'] = { power: reading }
      await stage.plugin.setControl('refresh', true)
      await valueOf(stage, 'b', (value) => value === reading)
      assert.equal((await stage.plugin.objects()).status?.['first'], problem)
    }
    assert.deepEqual(await stage.plugin.logs('warn'), [problem])
  },
)

test('values of several documents are sensors, one request a document', { timeout }, async (context) => {
  const stage = await start(
    context,
    { '/meter': { meters: [{ power: 4123 }], state: 'on' }, '/bare?x=(1)': 21.5 },
    'power = @/meter meters[0].power scale=0.1 round=0 unit=W\nstate = @/meter state\nbare = @/bare?x=(1) .',
  )
  await valueOf(stage, 'power', (value) => value === 412)
  await valueOf(stage, 'bare', (value) => value === 21.5)
  assert.deepEqual(await stage.plugin.sensors(), { power: 412, state: 'on', bare: 21.5 })
  assert.deepEqual(stage.server.seen.map(({ target }) => target).sort(), ['/bare?x=(1)', '/meter'])
  assert.deepEqual((await stage.plugin.objects()).status, { ok: true, problems: 0 })
})

test('a change is told, with the value before', { timeout }, async (context) => {
  const stage = await start(context, { '/': { a: 1, b: 1 } }, 'a = @/ a\nb = @/ b')
  await valueOf(stage, 'b', (value) => value === 1)
  const events = await stage.plugin.listen(`${stage.plugin.topic}/events/#`)
  stage.documents['/'] = { a: 2, b: 1 }
  assert.equal((await stage.plugin.setControl('refresh', true)).status, 200)
  assert.deepEqual(await events.nextValue(), { id: 'a', value: 2, previous: 1 })
  assert.deepEqual(await stage.plugin.sensors(), { a: 2, b: 1 })
})

test('the token goes only where the line says so', { timeout }, async (context) => {
  const stage = await start(
    context,
    { '/open': 1, '/closed': 2 },
    'open = @/open .\nclosed = @/closed . auth',
    { token: 'secret-token' },
  )
  await valueOf(stage, 'open', (value) => value === 1)
  await valueOf(stage, 'closed', (value) => value === 2)
  const sent = stage.server.seen.map(({ target, headers }) => [target, headers.authorization])
  assert.deepEqual(Object.fromEntries(sent), { '/open': undefined, '/closed': 'Bearer secret-token' })
})

test(
  'what is missing is told once, the values stay, and it is told when it is there again',
  { timeout },
  async (context) => {
    const stage = await start(context, { '/': { a: 1 } }, 'a = @/ a\nb = @/ b')
    const missing = await stage.status(({ problems }) => problems === 1)
    assert.deepEqual(missing, { ok: false, problems: 1, first: "b: there is nothing at 'b'" })
    await stage.plugin.setControl('refresh', true)
    stage.documents['/'] = { b: 2 }
    await stage.plugin.setControl('refresh', true)
    await stage.status(({ first }) => first === "a: there is nothing at 'a'")
    assert.deepEqual(await stage.plugin.sensors(), { a: 1, b: 2 })
    assert.deepEqual(await stage.plugin.logs('warn'), [
      "b: there is nothing at 'b'",
      "a: there is nothing at 'a'",
    ])
  },
)

test('a server that refuses is in the status, without password and query', { timeout }, async (context) => {
  const stage = await start(context, {}, 'a = @/gone?token=abcdef a')
  const { first } = await stage.status(({ ok }) => !ok)
  assert.equal(first, `${stage.server.url}/gone: HTTP 404`)
  assert.equal(stage.server.seen.length, 2, 'it was tried once more')
})

test(
  'a row that cannot be used is an error in the log, and the others work',
  { timeout },
  async (context) => {
    const stage = await start(context, { '/': 1 }, 'a = @/ .\nb = nowhere .')
    await valueOf(stage, 'a', (value) => value === 1)
    assert.deepEqual(await stage.plugin.logs('error'), ["row 2: 'nowhere' is no http or https address"])
    // The lines of earlier versions are rows to everybody, and its hosts are those of the rows.
    const { config } = (await stage.plugin.host.request('GET', '/api/plugins/http-sensor')).body
    assert.deepEqual(config.values, [
      { id: 'a', url: `${stage.server.url}/`, path: '.' },
      { id: 'b', url: 'nowhere', path: '.' },
    ])
  },
)
