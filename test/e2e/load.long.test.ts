import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runLoad } from '../../bench/load.ts'

test('many MQTT and HTTP clients while plugins load and unload: nothing fails, nothing is left open', async (context) => {
  const report = await runLoad({ mqttClients: 100, httpClients: 20, seconds: 5 })
  const { errors, sent, received, files, requests, loads } = report
  context.diagnostic(`${requests} requests, ${sent} messages, ${loads} loads`)
  assert.deepEqual(errors, [])
  assert.equal(received, sent)
  assert.ok(requests > 0 && sent > 0 && loads > 0)
  assert.ok(files.after <= files.before, `${files.after} files are open where ${files.before} were`)
})
