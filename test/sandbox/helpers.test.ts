import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KeyValueEntry } from '../../src/schema/files/key-value-file.ts'
import { linesOf, pluginSource, withPlugin } from './stage.ts'

test('§8 mqttPublish sends strings as they are, and other values as text or JSON', async () => {
  await withPlugin(
    pluginSource(`
      plugin:mqttPublish("a", "text") plugin:mqttPublish("a", 2.0, { retain = true, qos = 1 })
      plugin:mqttPublish("a", true) plugin:mqttPublish("a", { x = 1 }) plugin:mqttPublish("a")
      print(pcall(function() plugin:mqttPublish("a/#", "x") end))
    `),
    ({ recorder }) => {
      const plain = { qos: 0, retain: false }
      assert.deepEqual(recorder.named('publish'), [
        ['a', 'text', plain],
        ['a', '2', { qos: 1, retain: true }],
        ['a', 'true', plain],
        ['a', '{"x":1}', plain],
        ['a', '', plain],
      ])
      assert.match(recorder.logs()[0] ?? '', /false\tinit\.lua:4: .*wildcards/)
    },
  )
})

test('§1 an integer beyond 2^53 has all its digits in messages, JSON, texts and logs, and comes back from the store', async () => {
  await withPlugin(
    pluginSource(`
      local at = math.floor(1735570200 * 1000000000)
      plugin:mqttPublish("n", at) plugin:mqttPublish("n", { at = at })
      print(at, plugin:jsonEncode({ at }), plugin:coerceString(at), plugin:coerceNumber(plugin:coerceString(at)) == at)
      plugin:logSafe("info", "now", { at = at })
      plugin:kvSet("at", at) plugin:kvSet("all", { at, -2^62 })
      print(plugin:kvGet("at") == at, plugin:kvGet("all")[2], plugin:jsonDecode(plugin:jsonEncode(2^60)) == 2^60)
    `),
    ({ recorder }) => {
      const at = '1735570200000000000'
      assert.deepEqual(
        recorder.named('publish').map(([, payload]) => payload),
        [at, `{"at":${at}}`],
      )
      assert.deepEqual(recorder.logs(), [
        `info ${at}\t[${at}]\t${at}\ttrue`,
        `info now at=${at}`,
        'info true\t-4611686018427387904\ttrue',
      ])
    },
  )
})

test('§8 messages come to their own subscription as bytes, also empty ones, until it is taken back', async () => {
  await withPlugin(
    pluginSource(`
      local off = plugin:mqttSubscribe("a/+", function(topic, payload) print(topic, #payload, payload == "\\255x") end)
      plugin:mqttSubscribe("a/#", function(topic, payload) print("second", topic) off() end)
      print(pcall(function() plugin:mqttSubscribe("a/#/b", print) end))
    `),
    async ({ recorder, isolate }) => {
      assert.deepEqual(recorder.named('subscribeTopic'), [
        [1, 'a/+'],
        [2, 'a/#'],
      ])
      isolate.deliverMessage(1, 'a/b', new Uint8Array([255, 120]))
      isolate.deliverMessage(1, 'a/c', new Uint8Array())
      isolate.deliverMessage(2, 'a/d', new Uint8Array())
      isolate.deliverMessage(1, 'a/e', new Uint8Array())
      isolate.deliverMessage(2, 'a/f', new Uint8Array())
      await recorder.logged('a/f')
      assert.deepEqual(recorder.logs().slice(1), [
        'info a/b\t2\ttrue',
        'info a/c\t0\tfalse',
        'info second\ta/d',
        'info second\ta/f',
      ])
      assert.deepEqual(recorder.named('unsubscribeTopic'), [[1]])
    },
  )
})

test('§8 the key-value store keeps types, copies, lists sorted, and tells the host of every change', async () => {
  const keyValues: Record<string, KeyValueEntry> = {
    old: { value: { deep: [1, 2] } },
    gone: { value: 1, expiresAt: 1_000 },
  }
  await withPlugin(
    pluginSource(
      `
      print(plugin:kvGet("old").deep[2], plugin:kvGet("gone"), plugin:kvGet("none", "default"), plugin:kvHas("gone"))
      local t = { a = 1 }
      print(plugin:kvSet("b.t", t)) t.a = 2
      plugin:kvSet("b.n", 1.5) plugin:kvSet("a", false) plugin:kvSet("secret", "s3cr3t", { secure = true })
      print(plugin:kvGet("b.t").a, plugin:kvGet("b.n") + 1, plugin:kvGet("a", true), plugin:kvHas("a"))
      print(table.concat(plugin:kvList(), ","), table.concat(plugin:kvList("b."), ","))
      plugin:kvSet("a", nil) print(plugin:kvDelete("b.n"), plugin:kvDelete("b.n"))
      local all = plugin:kvGetAll() print(all["b.t"].a, all.a)
    `,
      { keyValues },
    ),
    ({ recorder }) => {
      assert.deepEqual(
        recorder.logs(),
        [
          '2\tnil\tdefault\tfalse',
          'true',
          '1\t2.5\tfalse\ttrue',
          'a,b.n,b.t,old,secret\tb.n,b.t',
          'true\tfalse',
          '1\tnil',
        ].map((line) => `info ${line}`),
      )
      assert.deepEqual(recorder.named('setKeyValue'), [
        ['gone', undefined],
        ['b.t', { value: { a: 1 } }],
        ['b.n', { value: 1.5 }],
        ['a', { value: false }],
        ['secret', { value: 's3cr3t', secure: true }],
        ['a', undefined],
        ['b.n', undefined],
      ])
    },
  )
})

test('§8 an entry with a ttl goes when its time has come', async () => {
  await withPlugin(
    pluginSource(`
      plugin:kvSet("short", 1, { ttl = 0.02 }) plugin:kvSet("long", 1, { ttl = 1000 })
      print(plugin:kvHas("short"))
      plugin:setTimeout(40, function() print(plugin:kvGet("short"), plugin:kvGet("long")) end)
    `),
    async ({ recorder }) => {
      await recorder.logged('nil\t1')
      assert.deepEqual(recorder.logs(), ['info true', 'info nil\t1'])
      const [[, entry] = []] = recorder.named('setKeyValue')
      assert.ok(((entry as KeyValueEntry).expiresAt ?? 0) > 0)
    },
  )
})

test('§8 the store holds one megabyte, and refuses what is more', async () => {
  const lines = await linesOf(
    pluginSource(`
      print(plugin:kvSet("a", ("x"):rep(1000000)))
      print(plugin:kvSet("b", ("x"):rep(60000)))
      print(plugin:kvSet("a", "small"), plugin:kvSet("b", ("x"):rep(60000)))
    `),
  )
  assert.equal(lines[0], 'true')
  assert.match(lines[1] ?? '', /^false\tkey-value store is full/)
  assert.equal(lines[2], 'true\ttrue')
})

test('§8 an entry whose ttl is over before it begins is gone at once', async () => {
  const lines = await linesOf(
    pluginSource(`
      plugin:kvSet("token", "old")
      print(plugin:kvSet("token", "stale", { ttl = 30 - 60 }), plugin:kvGet("token"), plugin:kvHas("token"))
      print(plugin:kvSet("kept", 1, { ttl = 0 }), plugin:kvGet("kept"))
    `),
  )
  assert.deepEqual(lines, ['true\tnil\tfalse', 'true\t1'])
})

test('§8 an entry whose ttl is math.huge stays for ever, also at the host', async () => {
  const source = 'plugin:kvSet("kept", 1, { ttl = math.huge }) plugin:kvSet("too", 2, { ttl = 1e308 })'
  await withPlugin(pluginSource(source), ({ recorder }) => {
    assert.deepEqual(recorder.named('setKeyValue'), [
      ['kept', { value: 1 }],
      ['too', { value: 2 }],
    ])
  })
})

test('§8 what has expired makes room in a full store, also when nobody asks for it again', async () => {
  await withPlugin(
    pluginSource(`
      for n = 1, 4 do plugin:kvSet("seen." .. n, ("x"):rep(250000), { ttl = 0.02 }) end
      plugin:setTimeout(40, function() print("then", plugin:kvSet("late", ("x"):rep(900000))) end)
    `),
    async ({ recorder }) => {
      assert.equal(await recorder.logged('then'), 'info then\ttrue')
      const removed = recorder.named('setKeyValue').filter(([, entry]) => entry === undefined)
      assert.deepEqual(
        removed.map(([key]) => key),
        ['seen.1', 'seen.2', 'seen.3', 'seen.4'],
      )
    },
  )
})

test('§8 the coercions follow their tables', async () => {
  const lines = await linesOf(
    pluginSource(`
      local function all(method, ...) local out = {} for i = 1, select("#", ...) do out[i] = tostring(plugin[method](plugin, (select(i, ...)), "d")) end print(table.concat(out, " ")) end
      all("coerceNumber", 1.5, " 42 ", "-1e3", "0x10", "", "x", "nan", true, {}, nil, 0 / 0)
      all("coerceString", "", "a", 2.0, true, false, nil, {})
      all("coerceBool", true, false, 0, 2, "TRUE", " yes ", "on", "1", "No", "off", "0", "maybe", nil, {})
    `),
  )
  assert.deepEqual(lines, [
    '1.5 42 -1000 16 d d d d d d d',
    ' a 2 true false d d',
    'true false false true true true true true false false false d d d',
  ])
})

test('§4 JSON keeps empty arrays, skips functions, and answers nil and a message for bad input', async () => {
  const lines = await linesOf(
    pluginSource(`
      local t = plugin:jsonDecode('{"list":[],"map":{},"n":1.5,"none":null,"s":"\\\\u00fc"}')
      print(plugin:jsonEncode(t.list), plugin:jsonEncode(t.map), plugin:jsonEncode({}), t.none, t.n, #t.s)
      print(JSON:encode({ 1, 2, f = nil }), JSON.encode({ a = print, b = 10 / 2 }), JSON.decode("[1]")[1], JSON:decode("3"))
      local value, message = plugin:jsonDecode("{bad")
      print(value, type(message))
      local cycle = {} cycle.self = cycle
      print(select("#", plugin:jsonEncode(cycle)), (plugin:jsonEncode(cycle)))
      print(plugin:jsonEncode("text"), plugin:jsonEncode(nil), plugin:jsonDecode("null"))
    `),
  )
  assert.deepEqual(lines, [
    '[]\t{}\t{}\tnil\t1.5\t2',
    '[1,2]\t{"b":5}\t1\t3',
    'nil\tstring',
    '2\tnil',
    '"text"\tnull\tnil',
  ])
})

test('§4 a byte order mark in front of JSON is passed over, as in the answer to a request, and is text everywhere else', async () => {
  const mark = '\\239\\187\\191'
  const lines = await linesOf(
    pluginSource(`
      print(plugin:jsonDecode('${mark}{"a":1}').a, JSON:decode('${mark}[2]')[1], #plugin:jsonDecode('"${mark}"'))
      print(#plugin:jsonDecode('${mark}["' .. ("x"):rep(5000) .. '"]')[1])
      print(plugin:jsonDecode('${mark}${mark}1') == nil, plugin:jsonDecode('1${mark}') == nil)
    `),
  )
  assert.deepEqual(lines, ['1\t2\t3', '5000', 'true\ttrue'])
})

test('§4 url sorts and encodes its parameters, and the authentication helpers give header values', async () => {
  const lines = await linesOf(
    pluginSource(`
      print(plugin:url("http://h/p", { b = "a b&c/ü~", a = 2.0, B = true, none = nil }))
      print(plugin:url("http://h/p?x=1", { y = 2 }), plugin:url("http://h/p?", { y = 2 }), plugin:url("http://h/p#f", { y = 2 }), plugin:url("http://h/p", {}), plugin:url("http://h"))
      print(plugin:basicAuth("user", "pässword"), plugin:bearerAuth("abc"))
    `),
  )
  assert.deepEqual(lines, [
    'http://h/p?B=true&a=2&b=a%20b%26c%2F%C3%BC~',
    'http://h/p?x=1&y=2\thttp://h/p?y=2\thttp://h/p?y=2#f\thttp://h/p\thttp://h',
    `Basic ${Buffer.from('user:pässword').toString('base64')}\tBearer abc`,
  ])
})

test('§2 a method called with a dot says how to call it', async () => {
  const lines = await linesOf(pluginSource('print(pcall(function() plugin.emit("a") end))'))
  assert.match(lines[0] ?? '', /call it with a colon, plugin:emit/)
})

test('§8 kvSet refuses what has no JSON as a whole, says so, and keeps what is stored', async () => {
  await withPlugin(
    pluginSource(`
      plugin:kvSet("a", { n = 1 })
      local cycle = {} cycle.again = { cycle }
      local deep = {} for i = 1, 200 do deep = { deep } end
      for _, value in ipairs({ 0 / 0, 1 / 0, -1 / 0, print, { mean = 0 / 0, n = 2 }, { list = { 1, 1 / 0 } }, cycle, deep }) do
        print(plugin:kvSet("a", value))
        print(plugin:kvSet("new", value))
      end
      print(plugin:kvGet("a").n, plugin:kvHas("new"))
      print(plugin:kvSet("b", { n = 1, show = print, inner = { show = print } }))
      print(plugin:jsonEncode(plugin:kvGet("b").inner), plugin:kvGet("b").n, plugin:kvGet("b").show)
      print(plugin:kvSet("a"), plugin:kvHas("a"))
    `),
    ({ recorder }) => {
      const refused = (reason: string) =>
        ['a', 'new'].map((key) => `info false\tthe value of '${key}' cannot be stored: ${reason}`)
      assert.deepEqual(recorder.logs(), [
        ...refused('the number nan has no JSON'),
        ...refused('the number inf has no JSON'),
        ...refused('the number -inf has no JSON'),
        ...refused('a function has no JSON'),
        ...refused('the number nan has no JSON'),
        ...refused('the number inf has no JSON'),
        ...refused('cycle: the table contains itself'),
        ...refused('the table is nested more than 100 levels deep'),
        'info 1\tfalse',
        'info true',
        'info {}\t1\tnil',
        'info true\tfalse',
      ])
      assert.deepEqual(
        recorder.named('setKeyValue').map(([key]) => key),
        ['a', 'b', 'a'],
      )
    },
  )
})
