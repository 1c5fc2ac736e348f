import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JournalEvent } from '../../src/schema/journal/journal-event.ts'
import { logMessages, startTestHost, type TestHost } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'
import { readEvents } from '../http/clients.ts'

/** What a plugin can do to another one by calling it, or by being called by it. */

/** So often a plugin may crash before it stays down. */
const crashes = 3

const victim = {
  id: 'victim',
  lua: `
    local plugin = Plugin:new("victim")
    function plugin:bomb()
      local kept = {}
      for n = 1, 1e9 do kept[n] = { n, { n } } end
    end
    function plugin:call(callback) callback() end
    plugin:onInit(function() print("begun") end)
  `,
}
const attacker = (lua: string) => ({
  id: 'attacker',
  lua: `
    local plugin = Plugin:new("attacker")
    local victim
    local function bomb()
      local kept = {}
      for n = 1, 1e9 do kept[n] = { n, { n } } end
    end
    plugin:onInit(function()
      victim = Plugin.get("@fixtures/victim")
      ${lua}
    end)
  `,
})

async function stage(
  t: TestContext,
  lua: string,
  memory = 32,
  isolation: 'auto' | 'dedicated' = 'auto',
): Promise<TestHost> {
  const host = await startTestHost({
    settings: { isolation },
    plugins: [victim, attacker(lua)],
    // What takes too much may take long for it on a busy machine.
    limits: {
      memory,
      callbackTime: 60_000,
      unresponsiveAfter: 60_000,
      hangBeats: 1_000,
    },
    restartPolicy: { budget: crashes, stableAfter: 600_000, firstDelay: 1, longestDelay: 1, jitter: 0 },
  })
  t.after(() => host.close())
  for (const id of ['victim', 'attacker']) {
    await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${id}` } })
    await host.request('POST', `/api/plugins/${id}/toggle`, { body: { enabled: true } })
  }
  return host
}

const historyOf = async (host: TestHost, id: string): Promise<JournalEvent[]> =>
  (await host.request('GET', `/api/plugins/${id}/history`)).body.events

const crashesOf = async (host: TestHost, id: string): Promise<string[]> =>
  (await historyOf(host, id)).flatMap((event) =>
    event.type === 'PluginCrashed' ? [event.data.error.code] : [],
  )

const stateOf = async (host: TestHost, id: string) => {
  const { state, error } = (await host.request('GET', `/api/plugins/${id}`)).body
  return { state, code: error?.code }
}

test('a value that is small on its way and huge when it is written out is refused to who hands it over', async (t) => {
  const host = await stage(
    t,
    `
      local large = {}
      for n = 1, 9 do large[n] = ("x"):rep(1024 * 40) end
      local list = {}
      for n = 1, 60 do list[n] = large end
      local nested = {}
      for n = 1, 60 do nested[n] = list end
      local tables = {}
      for n = 1, 49000 do tables[n] = {} end
      local text = "[" .. ("[],"):rep(150000) .. "[]]"
      local shown = setmetatable({}, { __tostring = function() return ("y"):rep(1024 * 1024) end })
      local fields = {}
      for n = 1, 200 do fields[n] = shown end
      local function try(name, f, ...)
        local ok, value, message = pcall(f, victim, ...)
        print(name, ok and tostring(value) or "raised", tostring(message or value):sub(1, 120))
      end
      try("encode", victim.jsonEncode, nested)
      try("tables", victim.jsonEncode, tables)
      try("decode", victim.jsonDecode, text)
      try("emit", victim.emit, "bomb", nested)
      try("object", victim.upsertObject, "bomb", nested)
      try("live", victim.createObject, "bomb", nested)
      try("publish", victim.mqttPublish, "bomb", nested)
      try("log", victim.logSafe, "info", "bomb", fields)
      try("query", victim.url, "http://127.0.0.1/", fields)
      for _, kind in ipairs({ "json", "form" }) do
        local options = { url = "http://127.0.0.1:1/" }
        options[kind] = kind == "json" and nested or fields
        try(kind, victim.httpRequest, options, function(answer) print("answer", kind, answer.err:sub(1, 60)) end)
      end
      try("large", victim.log, "info", ("z"):rep(1024 * 1024))
      try("number", victim.coerceNumber, ("1"):rep(300000) .. "x")
      try("small", victim.jsonEncode, { "still", "there" })
      print("done")
    `,
    128,
    // Tens of thousands of tables at a time take so long that one of the two may have to leave a shared worker.
    'dedicated',
  )
  const lines = await until('its last line', async () => {
    const found = await logMessages(host, 'attacker')
    return found.filter((line) => line.startsWith('answer')).length === 2 && found.includes('done')
      ? found
      : undefined
  })
  const outcomes = Object.fromEntries(
    lines.filter((line) => !line.startsWith('answer')).map((line) => line.split('\t').slice(0, 2)),
  )
  assert.deepEqual(outcomes, {
    encode: 'nil',
    tables: 'raised',
    decode: 'nil',
    emit: 'raised',
    object: 'raised',
    live: 'raised',
    publish: 'raised',
    log: 'raised',
    query: 'raised',
    json: 'true',
    form: 'true',
    large: 'raised',
    number: 'nil',
    small: '["still","there"]',
    done: undefined,
  })
  for (const line of lines.filter((line) => line.startsWith('answer')))
    assert.match(line, /the value is too large: it takes more than 524288 bytes/)
  assert.deepEqual(await stateOf(host, 'victim'), { state: 'running', code: undefined })
  assert.deepEqual(
    (await logMessages(host, 'victim')).filter((line) => line === 'begun'),
    ['begun'],
  )
})

test('what dies while it serves a call is charged to who has called: it stays down, and the one that served runs', async (t) => {
  const host = await stage(
    t,
    // When it is back before its victim it has to wait.
    `plugin:setInterval(20, function()
      local found = Plugin.get("@fixtures/victim")
      if found then found:bomb() end
    end)`,
  )
  await until('the end of the attacker', async () => (await stateOf(host, 'attacker')).state === 'failed')
  await until('its last crash', async () => (await crashesOf(host, 'attacker')).length === crashes)
  await until('the victim', async () => (await stateOf(host, 'victim')).state === 'running')
  assert.deepEqual(await crashesOf(host, 'victim'), [])
  assert.deepEqual(await crashesOf(host, 'attacker'), Array(crashes).fill('ended_another'))
  const reasons = (await historyOf(host, 'victim')).flatMap((event) =>
    event.type === 'PluginUnloaded' && event.by === 'supervisor' ? [event.data.reason] : [],
  )
  assert.equal(reasons.length, crashes)
  for (const reason of reasons)
    assert.match(reason ?? '', /^a call of @fixtures\/attacker ended it: .* memory \(limit memory\)/)
  const { error } = (await host.request('GET', '/api/plugins/attacker')).body
  assert.equal(error.message, 'it ended @fixtures/victim, which served its call (out_of_memory)')
})

for (const [how, lua] of [
  ['through a timer', 'victim:setTimeout(1, bomb)'],
  ['by its method', 'plugin:setTimeout(1, function() victim:call(bomb) end)'],
]) {
  test(`a plugin that dies in a callback of its own, called ${how}, has crashed itself`, async (t) => {
    const host = await stage(t, lua ?? '')
    await until('its last crash', async () => (await crashesOf(host, 'attacker')).length === crashes)
    assert.deepEqual(await crashesOf(host, 'attacker'), Array(crashes).fill('out_of_memory'))
    assert.deepEqual(await stateOf(host, 'victim'), { state: 'running', code: undefined })
    assert.deepEqual(
      (await logMessages(host, 'victim')).filter((line) => line === 'begun'),
      ['begun'],
    )
  })
}

test('an event that is emitted through the instance of another plugin names in the event stream who did it', async (t) => {
  const host = await stage(
    t,
    `plugin:setInterval(20, function() victim:emit("not:mine", { n = 1 }) plugin:emit("mine") end)`,
  )
  const reader = await readEvents(`${host.url}/api/events`)
  const events = await reader.until(({ event, data }) => event === 'event' && data?.name === 'mine')
  const { data: forged } = await reader
    .until(({ data }) => data?.name === 'not:mine')
    .then((all) => all.at(-1) ?? {})
  await reader.close()
  assert.deepEqual(forged, {
    ...{ plugin: '@fixtures/victim', name: 'not:mine', data: { n: 1 } },
    caller: '@fixtures/attacker',
  })
  assert.deepEqual(events.at(-1)?.data, { plugin: '@fixtures/attacker', name: 'mine', data: null })
})
