import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageBytesLimit } from '../../src/base/text/cut-text.ts'
import { createRedactor } from '../../src/base/log/redaction.ts'
import { printedBy, withOutside } from '../sandbox/outside-stage.ts'
import { pluginSource } from '../sandbox/stage.ts'

/** Texts of some megabytes, wherever a plugin can hand one over. */

test('a request with too long a url, host name or block of headers gets an error, and nothing else is lost', async () => {
  const lines = await printedBy(
    pluginSource(`
      local long = string.rep("x", 8000000)
      local requests = {
        { url = "http://" .. long .. "/" },
        { url = "http://a.example/" .. long },
        { url = "http://" .. string.rep("x.", 200) .. "example/" },
        { url = "http://a.example/", headers = { ["X-Long"] = long } },
      }
      plugin:onInit(function()
        local open = #requests
        for index, request in ipairs(requests) do
          plugin:httpRequest(request, function(answer, err)
            print(index, answer.status, answer.errCode, err)
            open = open - 1
            if open == 0 then print("done") end
          end)
        end
        Modbus.readHolding({ host = long, addr = 0 }, function(_, err) print("modbus", err) end)
        print("topic", select(2, pcall(plugin.mqttPublish, plugin, string.rep("t", 65536), "x")))
        plugin:mqttPublish(string.rep("t", 65535), "x")
      end)
    `),
  )
  assert.deepEqual(lines.map((line) => line.replace(/^topic\t.*?: /, 'topic\t')).sort(), [
    '1\t0\tnetwork\tthe url has more than 65536 bytes',
    '2\t0\tnetwork\tthe url has more than 65536 bytes',
    '3\t0\tnetwork\tthe host name has more than 253 bytes',
    '4\t0\tnetwork\tthe headers have more than 65536 bytes together',
    'modbus\thost must be a name or an address',
    "topic\tbad argument #1 to 'mqttPublish' (the string has more than 65535 characters)",
  ])
})

test('a long line, error or traceback is cut in the worker, and says how long it was', async () => {
  const source = pluginSource(`
    plugin:onInit(function()
      plugin:log("warn", string.rep("x", 8000000))
      plugin:setTimeout(0, function()
        plugin:setTimeout(0, function() print("done") end)
        error(string.rep("y", 8000000), 0)
      end)
    end)
  `)
  await withOutside(source, async ({ recorder }) => {
    await recorder.logged('info done')
    const [line, failure] = recorder.logs()
    assert.match(line ?? '', /^warn x+… \(8,000,000 bytes\)$/)
    assert.match(failure ?? '', /^error [^\n]*y+… \(8,0\d\d,\d\d\d bytes\)/)
    for (const text of [line, failure]) assert.ok(Buffer.byteLength(text ?? '') < messageBytesLimit + 1_000)
  })
})

test('a secret at the end of what is shown of a text is hidden, too', () => {
  const redactor = createRedactor(['a very secret word'])
  const text = `${'x'.repeat(messageBytesLimit - 40)}a very secret word${'x'.repeat(8_000_000)}`
  const shown = redactor.redactMessage(text)
  assert.equal(Buffer.byteLength(shown), messageBytesLimit)
  assert.doesNotMatch(shown, /a very/)
  assert.match(shown, /… \(8,004,0\d\d bytes\)$/)
  assert.equal(redactor.redactMessage('a very secret word'), '***')
})
