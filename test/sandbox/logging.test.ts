import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRecorder, linesOf, pluginSource, testSandbox, withPlugin } from './stage.ts'

test('§3 log takes any level and any message, and never raises', async () => {
  await withPlugin(
    pluginSource(`
      plugin:log("debug", "a") plugin:log("WARN", 1.0) plugin:log("error", nil) plugin:log("loud", true) plugin:log()
      Logger:warn("b") Logger.info("c")
      print("d", 2, nil)
    `),
    ({ recorder }) =>
      assert.deepEqual(recorder.logs(), [
        'debug a',
        'warn 1',
        'error nil',
        'info true',
        'info nil',
        'warn b',
        'info c',
        'info d\t2\tnil',
      ]),
  )
})

test('§3 logSafe appends the fields sorted, and hides what their names call secret', async () => {
  await withPlugin(
    pluginSource(`
      plugin:logSafe("info", "sent", { status = 200, apiKey = "0123456789abcdef", pass = "short", city = "Bern" })
      plugin:logSafe("warn", "open", { token = "0123456789abcdef" }, false)
      plugin:logSafe("info", "bare")
    `),
    ({ recorder }) =>
      assert.deepEqual(recorder.logs(), [
        'info sent apiKey=01234*** city=Bern pass=*** status=200',
        'warn open token=0123456789abcdef',
        'info bare',
      ]),
  )
})

test('§3 what basicAuth makes of a secret is in no log line, and what it makes of anything else is as it is', async () => {
  const lua = `
    print(plugin:jsonEncode({ headers = { Authorization = plugin:basicAuth("ada", plugin.config.password) } }))
    print(plugin:basicAuth("ada", "x"))`
  const password = 'open ß sesame'
  assert.deepEqual(await linesOf(pluginSource(lua, { config: { password }, secrets: [password] })), [
    '{"headers":{"Authorization":"Basic ***"}}',
    `Basic ${Buffer.from('ada:x').toString('base64')}`,
  ])
})

test('§3 values of secret fields are in no log line, wherever they come from', async () => {
  await withPlugin(
    pluginSource(
      `
      print("the key is " .. plugin.config.apiKey)
      plugin:logSafe("info", "x", { note = plugin.config.apiKey }, false)
      plugin:log("info", "http://me:open-sesame@host/")
      plugin:kvSet("refresh", "very-hidden", { secure = true })
      print("very-hidden")
      plugin:setTimeout(1, function() error("failed with " .. plugin.config.apiKey) end)
    `,
      { config: { apiKey: 'sk-12345678' }, secrets: ['sk-12345678'] },
    ),
    async ({ recorder }) => {
      await recorder.logged('failed')
      const [last = ''] = recorder.logs().splice(4)
      assert.deepEqual(recorder.logs(), [
        'info the key is ***',
        'info x note=***',
        'info http://***@host/',
        'info ***',
      ])
      assert.match(last, /failed with \*\*\*/)
      assert.doesNotMatch(JSON.stringify(recorder.named('log')), /sk-12345678|very-hidden/)
    },
  )
})

test('§3 a secret is hidden in the reason of a failed load as well', async () => {
  const sandbox = testSandbox()
  try {
    const source = pluginSource('error(plugin.config.key)', {
      config: { key: 'sk-12345678' },
      secrets: ['sk-12345678'],
    })
    await assert.rejects(sandbox.load(source, createRecorder().services), { message: 'init.lua:1: ***' })
  } finally {
    await sandbox.close()
  }
})

test('§3 a line that is too long is cut', async () => {
  await withPlugin(pluginSource('print(("x"):rep(100000))'), ({ recorder }) => {
    const [line = ''] = recorder.logs()
    assert.ok(line.length < 5_000)
    assert.match(line, /x… \(100,000 bytes\)$/)
  })
})
