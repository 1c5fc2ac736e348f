import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connectAsync } from 'mqtt'
import { WebSocket } from 'ws'
import { writeFixtureRepository } from '../helpers/fixture-repository.ts'
import { programPath } from '../helpers/host-process.ts'
import { listen } from '../helpers/listen.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/**
 * Secrets that can be told from everything else are put wherever a secret can be, and then everything that comes
 * out of the host is searched for them.
 */
const canaries = {
  token: 'canary-of-the-host-token',
  apiKey: 'canary-of-a-named-key',
  pin: 'canary-of-a-secret-field',
  nested: 'canary-of-a-nested-password',
  environment: 'canary-of-the-environment',
  stored: 'canary-of-the-store',
  repository: 'canary-of-the-repository',
  deadRepository: 'canary-of-a-dead-repository',
  wrongType: 'canary-of-a-wrong-type',
  wrongToken: 'canary-of-a-wrong-token',
  brokenBody: 'canary-of-a-broken-body',
  header: 'canary-of-a-header',
  address: 'canary-of-an-address',
  broker: 'canary-of-the-broker',
  old: 'canary-of-the-history',
}

const plugin = `
local plugin = Plugin:new("bird")
plugin:onInit(function(config)
  plugin:kvSet("session", "${canaries.stored}", { secure = true })
  plugin:log("info", "starting with " .. config.apiKey .. " and " .. config.pin)
  plugin:log("warn", "the environment says " .. tostring(config.fromEnvironment) .. ", " .. config.server.password)
  plugin:logSafe("info", "fields", { token = config.apiKey, pin = config.pin, deep = { x = config.server.password } })
  print("printed", config.pin)
  local function ask(options)
    plugin:httpRequest(options, function(response, err)
      plugin:log("info", "answered " .. tostring(err) .. " " .. tostring(response and response.error))
    end)
  end
  ask({ url = config.url .. "?key=" .. config.apiKey, headers = { Authorization = "Bearer " .. config.headerToken } })
  ask({ url = config.credentials })
  ask({ url = "http://me:${canaries.address}@127.0.0.1:1/nobody" })
  ask({ url = config.url, headers = plugin:basicAuth("me", config.pin) })
  plugin:setTimeout(1, function() error("a timer failed with " .. config.apiKey) end)
  plugin:on("bird:fail", function() error({ code = config.pin }) end)
  plugin:control("level", function() return 1 end, function() error("no level with " .. config.pin) end)
  plugin:poller("status", { interval = 1000, immediate = true, onTick = function() error("polled " .. config.apiKey) end }):start()
  plugin:setTimeout(50, function() plugin:emit("bird:fail", {}) end)
  if config.crash then error("onInit failed with " .. config.apiKey .. " and " .. config.server.password) end
end)
return plugin`

const manifest = {
  config: {
    apiKey: { type: 'string' },
    headerToken: { type: 'string' },
    pin: { type: 'string', secret: true },
    fromEnvironment: { type: 'string', env: 'BIRD_SECRET', secret: true },
    url: { type: 'string' },
    credentials: { type: 'string', secret: true },
    crash: { type: 'boolean' },
  },
  exports: { controls: [{ id: 'level', type: 'number', range: '0-10' }] },
}

/** Serves the folder to whoever has the password. */
async function serveRepository(context: TestContext, folder: string): Promise<string> {
  const expected = `Basic ${Buffer.from(`me:${canaries.repository}`).toString('base64')}`
  const server: Server = createServer((request, response) => {
    if (request.headers.authorization !== expected) {
      response.writeHead(401).end('who are you?')
      return
    }
    readFile(join(folder, new URL(request.url ?? '/', 'http://x').pathname)).then(
      (content) => response.end(content),
      () => response.writeHead(404).end(),
    )
  })
  const port = await listen(server)
  context.after(() => server.close())
  return `http://me:${canaries.repository}@127.0.0.1:${port}`
}

interface Running {
  http: string
  mqtt: string
  output(): string
  stop(): Promise<void>
}

async function run(
  context: TestContext,
  flags: string[],
  environment: Record<string, string>,
): Promise<Running> {
  const child: ChildProcess = spawn(
    process.execPath,
    [programPath, ...flags, '--http-port', '0', '--mqtt-port', '0'],
    {
      env: { PATH: process.env.PATH ?? '', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  context.after(() => void child.kill('SIGKILL'))
  let output = ''
  const found = (name: string): string => new RegExp(`"?${name}"?: ?"([^"]+)"`).exec(output)?.[1] ?? ''
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        output += chunk
        if (/\bready\b/.test(output) && found('mqtt') !== '' && /startupMs/.test(output)) resolve()
      })
    }
    child.once('exit', () => reject(new Error(output)))
  })
  return {
    http: found('http'),
    mqtt: found('mqtt'),
    output: () => output,
    async stop() {
      if (child.exitCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

/** What is searched for: each canary as it is, in base64 and percent-encoded. */
function formsOf(canary: string): string[] {
  const withUser = ['me', ''].map((user) => Buffer.from(`${user}:${canary}`).toString('base64').slice(4, -4))
  return [canary, Buffer.from(canary).toString('base64').slice(0, -4), ...withUser]
}

function assertNone(texts: ReadonlyMap<string, string>, secrets: Record<string, string>): void {
  const found: string[] = []
  for (const [place, text] of texts) {
    for (const [name, canary] of Object.entries(secrets)) {
      for (const form of formsOf(canary)) {
        const at = text.indexOf(form)
        if (at >= 0) found.push(`${name} in ${place}: …${text.slice(Math.max(0, at - 80), at + 60)}…`)
      }
    }
  }
  assert.deepEqual(found, [])
}

for (const format of ['json', 'pretty']) {
  test(
    `no secret comes out of the host anywhere, nor lies readable in its directory (log: ${format})`,
    { timeout: 300_000 },
    async (context) => {
      const folder = await temporaryDirectory(context)
      const [directory, repository, keyFile] = [
        join(folder, 'data'),
        join(folder, 'repository'),
        join(folder, 'key'),
      ]
      await mkdir(directory)
      await writeFile(keyFile, 'c0ffee00'.repeat(8), { mode: 0o600 })
      await writeFixtureRepository(repository, [
        { id: 'bird', lua: plugin, manifest },
        { id: 'quiet', lua: 'Plugin:new("quiet")' },
      ])
      const url = await serveRepository(context, repository)
      const host = await run(
        context,
        [
          '--data-dir',
          directory,
          '--log-format',
          format,
          '--log-level',
          'debug',
          '--secret-key-file',
          keyFile,
        ],
        { HOST_TOKEN: canaries.token, BIRD_SECRET: canaries.environment },
      )
      const outputs = new Map<string, string>()
      const note = (place: string, text: string): void =>
        void outputs.set(place, (outputs.get(place) ?? '') + text)

      // Everybody who listens, before anything happens.
      const authorization = { authorization: `Bearer ${canaries.token}` }
      const listening = new AbortController()
      const stream = await fetch(`${host.http}/api/events`, {
        headers: authorization,
        signal: listening.signal,
      })
      const reading = (async () => {
        const decoder = new TextDecoder()
        for await (const chunk of stream.body ?? [])
          note('the event stream', decoder.decode(chunk as Uint8Array))
      })().catch(() => undefined)
      const inspector = new WebSocket(`${host.http.replace('http', 'ws')}/api/inspect`, {
        headers: authorization,
      })
      inspector.on('message', (data: Buffer) => note('the inspector', data.toString('utf8')))
      await once(inspector, 'open')
      const mqtt = await connectAsync(host.mqtt, {
        username: 'me',
        password: canaries.token,
        reconnectPeriod: 0,
      })
      mqtt.on('message', (topic, payload) => note('MQTT', `${topic} ${payload.toString('utf8')}\n`))
      await mqtt.subscribeAsync(['#', 'host/#', 'homeassistant/#'])

      let cookie = ''
      const ask = async (
        method: string,
        path: string,
        body?: unknown,
        headers: object = authorization,
      ): Promise<number> => {
        const answer = await fetch(host.http + path, {
          method,
          headers: { 'content-type': 'application/json', ...headers },
          ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        })
        cookie ||= answer.headers.get('set-cookie')?.split(';')[0]?.split('=')[1] ?? ''
        const shown = [...answer.headers].filter(([name]) => name !== 'set-cookie')
        note(`the answer to ${method} ${path}`, JSON.stringify(shown) + (await answer.text()))
        return answer.status
      }
      assert.equal(await ask('POST', '/api/session', { token: canaries.token }, {}), 201)
      assert.equal(await ask('POST', '/api/session', { token: canaries.wrongToken }, {}), 401)
      assert.equal(
        await ask('GET', '/api/plugins', undefined, { authorization: `Bearer ${canaries.wrongToken}` }),
        401,
      )
      assert.equal(await ask('POST', '/api/repositories', { name: 'mine', url }), 201)
      const dead = `http://me:${canaries.deadRepository}@127.0.0.1:1/`
      assert.equal(await ask('POST', '/api/repositories', { name: 'dead', url: dead }), 502)
      assert.equal(
        await ask('POST', '/api/repositories', {
          name: 'bad',
          url: url.replace(canaries.repository, canaries.deadRepository),
        }),
        502,
      )
      for (const id of ['bird', 'quiet']) {
        assert.equal(
          await ask('POST', '/api/plugins/install', { fullId: `@fixtures/${id}`, repository: 'mine' }),
          201,
        )
      }
      const config = {
        apiKey: canaries.old,
        headerToken: canaries.header,
        pin: canaries.pin,
        url: `${url.replace(/me:.*@/, '')}/nothing`,
        credentials: url,
        server: { host: 'x', password: canaries.nested },
      }
      const configure = (more: object): Promise<number> =>
        ask('POST', '/api/plugins/bird/config', { config: { ...config, ...more } })
      assert.equal(await configure({}), 200)
      assert.equal(await configure({ apiKey: canaries.apiKey }), 200)
      assert.equal(
        await ask('POST', '/api/plugins/bird/config/check', {
          config: { ...config, pin: { x: canaries.wrongType } },
        }),
        200,
      )
      assert.equal(await configure({ pin: [canaries.wrongType] }), 422)
      assert.equal(
        await ask('POST', '/api/plugins/bird/config', `{"config": {"apiKey": "${canaries.brokenBody}`),
        400,
      )
      assert.equal(await ask('POST', '/api/plugins/bird/toggle', { enabled: true }), 200)
      await ask('PUT', '/api/plugins/bird/controls/level', { value: 3 })
      for (const [verb, payload] of Object.entries({
        list: {},
        config: {
          plugin: '@fixtures/bird',
          config: { ...config, apiKey: canaries.apiKey, pin: [canaries.wrongType] },
        },
        install: { fullId: '@fixtures/bird' },
        nonsense: { plugin: canaries.brokenBody },
      })) {
        await mqtt.publishAsync(`host/request/${verb}`, JSON.stringify({ ...payload, transaction: verb }), {
          qos: 1,
        })
      }
      await mqtt.publishAsync('host/plugins/@fixtures/bird/controls/level/set', '4', { qos: 1 })
      assert.equal(await configure({ apiKey: canaries.apiKey, crash: true }), 200)
      assert.equal(await configure({ apiKey: canaries.apiKey, crash: false }), 200)
      const waitFor = async (place: string, text: string): Promise<void> => {
        for (let turn = 0; turn < 600 && !(outputs.get(place) ?? '').includes(text); turn += 1) {
          await ask('GET', '/api/plugins/bird/logs')
          outputs.delete('the answer to GET /api/plugins/bird/logs')
          await new Promise((resolve) => setImmediate(resolve))
        }
        assert.ok(
          (outputs.get(place) ?? '').includes(text),
          `${place} has no ${text}: ${outputs.get(place)?.slice(-3_000)}`,
        )
      }
      for (const text of ['a timer failed', 'onInit failed with', 'polled', 'answered', 'starting with']) {
        await waitFor('the event stream', text)
      }
      assert.equal(
        await ask('POST', '/api/plugins/quiet/config', { config: { password: canaries.nested } }),
        200,
      )
      const badPassword = { username: 'me', password: canaries.wrongToken, reconnectPeriod: 0 }
      await assert.rejects(connectAsync(host.mqtt, badPassword))

      // Every address that can be read.
      const openapi = (await (
        await fetch(`${host.http}/api/openapi.json`, { headers: authorization })
      ).json()) as {
        paths: Record<string, Record<string, unknown>>
      }
      const skipped = new Set(['/api/events', '/api/inspect', '/mqtt'])
      let read = 0
      for (const [path, methods] of Object.entries(openapi.paths)) {
        if (!('get' in methods) || skipped.has(path)) continue
        for (const id of ['@fixtures/bird', '@fixtures/quiet']) {
          const real = path
            .replace('{id}', encodeURIComponent(id))
            .replace('{name}', path.includes('machines') ? 'plugin-lifecycle' : 'mine')
            .replace('{seq}', '12')
          await ask('GET', real)
          read += 1
        }
      }
      assert.ok(read > 30, String(read))
      await ask('GET', '/nothing')

      const secrets = { ...canaries, cookie, key: 'c0ffee00c0ffee00' }
      assert.match(cookie, /^[\w-]{43}$/)
      mqtt.end(true)
      inspector.terminate()
      listening.abort()
      await reading
      await host.stop()
      note('the log', host.output())
      for (const place of ['the event stream', 'the inspector', 'MQTT', 'the log']) {
        assert.ok((outputs.get(place)?.length ?? 0) > 2_000, `${place} was heard`)
      }
      assert.match(outputs.get('MQTT') ?? '', /host\/response\/config/)
      assertNone(outputs, secrets)

      const entries = await readdir(directory, { recursive: true, withFileTypes: true })
      const onDisk = new Map<string, string>()
      for (const entry of entries) {
        const path = join(entry.parentPath, entry.name)
        const { mode } = await stat(path)
        assert.equal(mode & 0o077, 0, `${path} has the mode ${(mode & 0o777).toString(8)}`)
        // The plugin's own program is as its author wrote it.
        if (entry.isFile() && !/plugins\/.*\.lua$/.test(path))
          onDisk.set(path, await readFile(path, 'latin1'))
      }
      assert.ok([...onDisk.keys()].some((path) => path.includes('.kv/fixtures--bird.json')))
      assertNone(onDisk, secrets)
    },
  )
}

test(
  'the password in the address of an external broker, and the key of the certificate, stay inside',
  { timeout: 300_000 },
  async (context) => {
    const folder = await temporaryDirectory(context)
    const tls = join(import.meta.dirname, '..', 'fixtures', 'tls')
    const broker = await run(context, ['--data-dir', join(folder, 'broker'), '--log-format', 'json'], {
      HOST_TOKEN: canaries.broker,
    })
    const host = await run(
      context,
      [
        '--data-dir',
        join(folder, 'data'),
        '--log-format',
        'json',
        '--log-level',
        'debug',
        '--tls-cert-file',
        join(tls, 'certificate.pem'),
        '--tls-key-file',
        join(tls, 'key.pem'),
      ],
      {
        HOST_MQTT_URL: broker.mqtt.replace('mqtt://', `mqtt://me:${canaries.broker}@`),
        HOST_MQTT_ROOT: 'other',
        HOST_TOKEN: canaries.token,
        NODE_OPTIONS: '--no-warnings',
      },
    )
    const outputs = new Map<string, string>()
    const { request } = await import('node:https')
    const ca = await readFile(join(tls, 'certificate.pem'))
    for (const path of ['/api/system', '/api/openapi.json', '/api/history', '/readyz', '/metrics']) {
      const sent = request(host.http + path, {
        ca,
        agent: false,
        headers: { authorization: `Bearer ${canaries.token}` },
      })
      sent.end()
      const [answer] = (await once(sent, 'response')) as [AsyncIterable<Buffer>]
      for await (const chunk of answer) outputs.set(path, (outputs.get(path) ?? '') + chunk.toString('utf8'))
    }
    await broker.stop()
    await host.stop()
    outputs.set('the log', host.output())
    const pem = await readFile(join(tls, 'key.pem'), 'utf8')
    const key = pem.split('\n')[1]?.slice(0, 40) ?? ''
    assert.ok(key.length === 40)
    assertNone(outputs, { broker: canaries.broker, token: canaries.token, key })
  },
)
