import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { listen } from '../helpers/listen.ts'
import { attackWithFloods } from './floods.ts'
import { slowdownWhileCollecting } from './measure.ts'
import { startStage } from './stage.ts'

attackWithFloods('dedicated')

test('a flood of HTTP requests goes out a few at a time', async (t) => {
  let open = 0
  let most = 0
  let all = 0
  const server = createServer((_request, response) => {
    open += 1
    all += 1
    most = Math.max(most, open)
    setTimeout(() => {
      open -= 1
      response.end('{}')
    }, 5)
  })
  const port = await listen(server)
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const stage = await startStage(t, [
    {
      id: 'requests',
      lua: `local refused = false
        local function again(body, err)
          if err and not refused then refused = true print("refused: " .. tostring(err)) end
        end
        plugin:setInterval(5, function()
          for i = 1, 500 do plugin:httpGet("http://127.0.0.1:${port}/", again) end
        end)`,
    },
  ])
  // What makes requests is loaded with the first one, once in a host's life: that takes a tenth of a second.
  await stage.enable('requests')
  await stage.logged('requests', 'too many requests are waiting')
  await stage.disable('requests')
  await stage.witness(async (enough) => {
    assert.equal((await stage.enable('requests')).state, 'running')
    await stage.logged('requests', 'too many requests are waiting')
    await stage.reached('requests', 'httpRequests')
    await enough
    await stage.disable('requests')
    // The server that answers works on the host's own thread here.
  }, slowdownWhileCollecting)
  assert.ok(all > 0 && most <= 8, `${most} of ${all} at a time`)
})
