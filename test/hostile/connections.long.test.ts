import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { slowdownWhileCollecting } from './measure.ts'
import { startStage } from './stage.ts'

/** A server in a process of its own, which does `body` with each `socket`. Answers its port. */
async function serve(t: TestContext, body: string): Promise<number> {
  const program = `require('node:net').createServer((socket) => {
    socket.on('error', () => {})
    ${body}
  }).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`
  const server = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => server.kill())
  const [line] = (await once(server.stdout, 'data')) as [Buffer]
  return Number(line.toString())
}

test('who opens and closes connections without end holds up nobody', async (t) => {
  const port = await serve(t, '')
  const stage = await startStage(t, [
    {
      id: 'opener',
      lua: `local rounds = 0
        plugin:setInterval(1, function()
          local all = {}
          for i = 1, 64 do all[i] = plugin:tcpConnect("127.0.0.1", ${port}, { reconnect = { min = 50, max = 50 } }) end
          for _, connection in ipairs(all) do connection:close() end
          rounds = rounds + 1
          if rounds == 100 then print("a hundred rounds") end
        end)`,
    },
  ])
  await stage.witness(async (enough) => {
    assert.equal((await stage.enable('opener')).state, 'running')
    await stage.logged('opener', 'a hundred rounds')
    await enough
    await stage.disable('opener')
  }, slowdownWhileCollecting)
})

test('a peer that sends without end is held back by a plugin that is slow, and holds up nobody', async (t) => {
  const port = await serve(
    t,
    `const block = Buffer.alloc(65536, 'x\\n')
     const write = () => { while (socket.write(block)); }
     socket.on('drain', write)
     write()`,
  )
  const stage = await startStage(t, [
    {
      id: 'reader',
      lua: `local seen = 0
        plugin:onInit(function()
          plugin:tcpConnect("127.0.0.1", ${port}, { framing = "line" }):onData(function(line)
            seen = seen + 1
            if seen == 100000 then print("a hundred thousand lines") end
          end)
        end)`,
    },
  ])
  await stage.witness(async (enough) => {
    assert.equal((await stage.enable('reader')).state, 'running')
    await stage.logged('reader', 'a hundred thousand lines')
    await enough
    await stage.disable('reader')
  }, slowdownWhileCollecting)
})

test('who writes to a peer that accepts and reads nothing is told so, and holds up nobody', async (t) => {
  const port = await serve(t, 'socket.pause()')
  const stage = await startStage(t, [
    {
      id: 'writer',
      lua: `local block, told = ("x"):rep(60000), false
        plugin:onInit(function()
          local connection = plugin:tcpConnect("127.0.0.1", ${port})
          plugin:setInterval(1, function()
            for i = 1, 100 do
              local ok, why = connection:write(block)
              if not ok and why ~= "not connected" and not told then told = true print(why) end
            end
          end)
        end)`,
    },
  ])
  await stage.witness(async (enough) => {
    assert.equal((await stage.enable('writer')).state, 'running')
    await stage.logged('writer', 'too much is waiting to be sent')
    await enough
    await stage.disable('writer')
  }, slowdownWhileCollecting)
})
