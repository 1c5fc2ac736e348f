import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failedAnswer } from '../../../src/schema/outside/failed-answer.ts'
import { linesWith, withStage } from '../plugins-stage.ts'
import { json } from '../stage.ts'

test('§9 requests, throttle windows and lines that others cause leave room for the plugin, and name who caused them', async () => {
  await withStage(async ({ load }) => {
    const victim = await load(
      'victim',
      `
        plugin:on("own", function()
          print("sent", plugin:emit("tick", { n = 1 }, { throttle = 1e9 }))
          plugin:httpRequest("http://127.0.0.1/own", function() end)
        end)
      `,
    )
    const asked: string[] = []
    victim.recorder.outside = (call) => {
      if (call.service === 'http') asked.push(new URL(call.request.url).pathname)
      return new Promise(() => undefined)
    }
    await load(
      'caller',
      `
        local other = Plugin.get("@test/victim")
        for n = 1, 20 do other:httpRequest("http://127.0.0.1/other", function() end) end
        other:emit("tick", {}, { throttle = 1e9 })
        other:log("info", "not my own line")
      `,
    )
    victim.isolate.deliverEvent('own', json())
    assert.equal(await victim.recorder.logged('sent'), 'info sent\ttrue')
    await victim.recorder.until(() => (asked.includes('/own') ? true : undefined))
    assert.deepEqual(asked, [...Array<string>(4).fill('/other'), '/own'])
    assert.deepEqual(
      victim.recorder.named('log').find(([, message]) => message === 'not my own line'),
      ['info', 'not my own line', { caller: '@test/caller' }],
    )
    assert.deepEqual(
      victim.recorder.named('emit').map(([name, , , caller]) => [name, caller]),
      [
        ['tick', '@test/caller'],
        ['tick', undefined],
      ],
    )
  })
})

test('§9 a line about a function of another plugin that fails names that plugin', async () => {
  await withStage(async ({ load }) => {
    const victim = await load('victim', `plugin:on("own", function() error("mine") end)`)
    const caller = await load(
      'caller',
      `
        local other = Plugin.get("@test/victim")
        local function fail() error("not mine") end
        other:on("event", fail)
        other:sensor("level", fail)
        other:control("switch", function() return 1 end, fail)
        other:poller("poll", { onTick = fail }):poll()
      `,
    )
    victim.isolate.deliverEvent('event', json())
    victim.isolate.deliverEvent('own', json())
    await assert.rejects(victim.isolate.setControl('switch', 2))
    const lines = (): unknown[] =>
      victim.recorder
        .named('log')
        .filter(([level, message]) => level !== 'warn' && String(message).includes('mine'))
        .map(([, message, fields]) => [
          String(message).split(/[:']/)[0]?.trim(),
          (fields as { caller?: string } | undefined)?.caller,
        ])
    await victim.recorder.until(() => (lines().length >= 5 ? true : undefined))
    assert.deepEqual(
      lines().sort(),
      [
        ['getter of', '@test/caller'],
        ['listener of', '@test/caller'],
        ['listener of', undefined],
        ['poller', '@test/caller'],
        ['setter of', '@test/caller'],
      ].sort(),
    )
    assert.deepEqual(
      caller.recorder.logs().filter((line) => line.startsWith('error')),
      [],
    )
  })
})

test('§9 others add half of the listeners of a sensor, and take the only request when the plugin wants none', async () => {
  await withStage(
    async ({ load }) => {
      const victim = await load(
        'victim',
        `
          plugin:sensor("level", function() return 1 end)
          plugin:on("own", function()
            for n = 1, 500 do plugin:get("level"):onChange(print) end
            print("room", pcall(function() plugin:get("level"):onChange(print) end))
            plugin:httpRequest("http://127.0.0.1/own", function() end)
          end)
        `,
      )
      const asked: string[] = []
      let answerFirst = (): void => undefined
      victim.recorder.outside = (call) => {
        if (call.service === 'http') asked.push(new URL(call.request.url).pathname)
        return new Promise((resolve) => {
          answerFirst = () => resolve(failedAnswer(call.service, 'answered'))
        })
      }
      const caller = await load(
        'caller',
        `
          local other = Plugin.get("@test/victim")
          local level = other:get("level")
          local function listen() level:onChange(print) end
          local made = 0
          while made < 1000 and pcall(listen) do made = made + 1 end
          print("made", made)
          for n = 1, 3 do other:httpRequest("http://127.0.0.1/other" .. n, function() end) end
        `,
      )
      assert.equal(await caller.recorder.logged('made'), 'info made\t500')
      victim.isolate.deliverEvent('own', json())
      assert.match(await victim.recorder.logged('room'), /^info room\tfalse/)
      await victim.recorder.until(() => (asked.length === 1 ? true : undefined))
      // Its own has come last, and is the next all the same.
      answerFirst()
      await victim.recorder.until(() => (asked.length === 2 ? true : undefined))
      assert.deepEqual(asked, ['/other1', '/own'])
    },
    { httpRequests: 1 },
  )
})

test('§9 what a plugin encodes in its own getter and setter is its own, also when another one has them called', async () => {
  const lines = await linesWith(
    `
      local big = string.rep("x", 600 * 1024)
      local size = 0
      plugin.level = plugin:control("level", function() return #(base64.encode(big) or "") + size end,
        function(value) size = #(base64.encode(big) or "") + value end)
    `,
    `
      print(other.level:get())
      other.level:set(1)
      print(other.level:get())
    `,
  )
  assert.deepEqual(lines, ['819200', '1638401'])
})
