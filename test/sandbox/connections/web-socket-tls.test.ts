import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { WebSocketServer } from 'ws'
import { listen } from '../../helpers/listen.ts'
import { printedBy } from '../outside-stage.ts'
import { pluginSource } from '../stage.ts'

const [cert, key] = ['certificate.pem', 'key.pem'].map((name) =>
  readFileSync(join(import.meta.dirname, '..', '..', 'fixtures', 'tls', name), 'utf8'),
)

test('§15 a WebSocket over TLS is made where the certificate is trusted, or the plugin says that it need not be', async (t) => {
  const server = createServer({ cert, key })
  const webSockets = new WebSocketServer({ server })
  webSockets.on('connection', (socket) => socket.send('hello'))
  const port = await listen(server)
  t.after(() => {
    for (const socket of webSockets.clients) socket.terminate()
    server.close()
  })
  const lines = await printedBy(
    pluginSource(`
      local function try(insecure, continue)
        local options = { reconnect = false, insecureSkipVerify = insecure }
        local socket = plugin:webSocket("wss://127.0.0.1:${port}/", options)
        socket:onMessage(function(data) print(insecure, data) socket:close() continue() end)
        socket:onClose(function(_, reason) print(insecure, reason) continue() end)
      end
      plugin:onInit(function()
        try(false, function() try(true, function() print("done") end) end)
      end)
    `),
  )
  assert.match(lines[0] ?? '', /^false\tthe certificate of 127\.0\.0\.1(:\d+)? is not trusted: /)
  assert.deepEqual(lines.slice(1), ['true\thello'])
})
