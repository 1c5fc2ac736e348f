import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type StagedPlugin, withStage } from '../plugins-stage.ts'
import { json } from '../stage.ts'

/** Milliseconds; a plugin that waited for the other one would not come back while a test has patience. */
const forEver = { callDeadline: 120_000, callbackTime: 120_000 }
const anyBytes = new Uint8Array(1)

/** Ways to give a plugin a function that it calls by itself, and what has it call it. */
const ways: Record<string, { give: string; cause?: (victim: StagedPlugin) => void }> = {
  setTimeout: { give: 'victim:setTimeout(1, slow)' },
  setInterval: { give: 'victim:setInterval(1, slow)' },
  on: {
    give: 'victim:on("x", slow)',
    cause: ({ isolate }) => isolate.deliverEvent('x', json(1)),
  },
  mqttSubscribe: {
    give: 'victim:mqttSubscribe("x", slow)',
    cause: ({ isolate }) => isolate.deliverMessage(1, 'x', anyBytes),
  },
  poller: { give: 'victim:poller("x", { interval = 10, onTick = slow }):start()' },
  httpRequest: { give: 'victim:httpRequest("http://127.0.0.1/", slow)' },
  onChange: {
    give: 'victim:get("level"):onChange(slow)',
    cause: ({ isolate }) => isolate.deliverEvent('change', json(1)),
  },
}

for (const [name, { give, cause }] of Object.entries(ways)) {
  test(`§9 a slow function of another plugin given to ${name} holds up only that plugin`, async () => {
    await withStage(async ({ load }) => {
      const victim = await load(
        'victim',
        `
          local level = 1
          plugin:sensor("level", function() return level end)
          plugin:on("change", function() level = 2 plugin:get("level"):notify() end)
          plugin:on("own", function() print("own") end)
        `,
      )
      const caller = await load(
        'caller',
        `
          local victim = Plugin.get("@test/victim")
          local begun
          local function slow()
            if begun then return end
            begun = true
            print("begun")
            while plugin:getObject("plugins.test.gate.open") == nil do end
            print("over")
          end
          ${give}
        `,
      )
      cause?.(victim)
      await caller.recorder.logged('begun')
      victim.isolate.deliverEvent('own', json())
      await victim.recorder.logged('own')
      assert.ok(!caller.recorder.logs().includes('info over'))
      caller.recorder.foreignObjects.set('plugins.test.gate.open', true)
      await caller.recorder.logged('over')
      assert.deepEqual(
        victim.recorder.logs().filter((line) => /^(warn|error)/.test(line)),
        [],
      )
    }, forEver)
  })
}

test('§9 functions of another plugin are called in order, over all that it has given', async () => {
  await withStage(async ({ load }) => {
    const victim = await load('victim', '')
    const { recorder } = await load(
      'caller',
      `
        local victim = Plugin.get("@test/victim")
        local seen = {}
        victim:on("x", function(n) seen[#seen + 1] = "x" .. n end)
        victim:on("y", function(n) seen[#seen + 1] = "y" .. n if n == 100 then print(table.concat(seen, " ")) end end)
      `,
    )
    const expected: string[] = []
    for (let n = 1; n <= 100; n += 1) {
      victim.isolate.deliverEvent('x', json(n))
      victim.isolate.deliverEvent('y', json(n))
      expected.push(`x${n}`, `y${n}`)
    }
    assert.equal(await recorder.logged('y100'), `info ${expected.join(' ')}`)
  })
})

test('§9 what a plugin does not take of its callbacks in time is left out, and the one that calls them keeps its memory', async () => {
  await withStage(async ({ load }) => {
    const victim = await load(
      'victim',
      `local count = 0 plugin:on("x", function() count = count + 1 print("count", count) end)`,
    )
    const caller = await load(
      'caller',
      `
          local victim = Plugin.get("@test/victim")
          local count = 0
          victim:on("x", function()
            count = count + 1
            if count == 1 then
              print("begun")
              while plugin:getObject("plugins.test.gate.open") == nil do end
            end
          end)
          victim:on("end", function() print("had", count) end)
        `,
    )
    const text = 'x'.repeat(500_000)
    for (let n = 1; n <= 20; n += 1) {
      victim.isolate.deliverEvent('x', json(text))
      await victim.recorder.logged(`count\t${n}`)
    }
    await caller.recorder.logged('begun')
    caller.recorder.foreignObjects.set('plugins.test.gate.open', true)
    // One is under way, and eight times half a megabyte wait.
    const line = 'callbacks of @test/caller are left out: it handles them more slowly than they come'
    assert.deepEqual(
      victim.recorder.named('log').filter(([level]) => level !== 'info'),
      [['warn', line, { caller: '@test/caller' }]],
    )
    await caller.recorder.until(() => {
      victim.isolate.deliverEvent('end', json())
      return caller.recorder.logs().find((had) => had === 'info had\t9')
    })
  }, forEver)
})

test('§9 a plugin that ends takes its waiting callbacks along, and nothing is held for it', async () => {
  await withStage(async ({ load, sandbox }) => {
    const victim = await load('victim', `plugin:on("own", function() print("own") end)`)
    const caller = await load(
      'caller',
      `
        Plugin.get("@test/victim"):on("x", function()
          print("begun")
          while plugin:getObject("plugins.test.gate.open") == nil do end
        end)
      `,
    )
    for (let n = 1; n <= 5; n += 1) victim.isolate.deliverEvent('x', json(n))
    await caller.recorder.logged('begun')
    caller.recorder.foreignObjects.set('plugins.test.gate.open', true)
    await caller.isolate.unload()
    victim.isolate.deliverEvent('own', json())
    await victim.recorder.logged('own')
    assert.equal(sandbox.references, 0)
    assert.deepEqual(
      victim.recorder.named('log').filter(([level]) => level === 'error'),
      [],
    )
  }, forEver)
})

test('§9 a slow getter of another plugin is asked seldom, and its last value counts', async () => {
  await withStage(async ({ load }) => {
    const victim = await load(
      'victim',
      `plugin:on("own", function()
        local point = plugin:get("level")
        for n = 1, 20 do point:get() end
        print("level", point:get())
      end)`,
    )
    const caller = await load(
      'caller',
      `
        local victim, asked = Plugin.get("@test/victim"), 0
        local function busy() local t = os.clock() while os.clock() - t < 2 do end end
        victim:control("level", function() asked = asked + 1 busy() return 7 end, function() end)
        plugin:on("end", function() print("asked", asked) end)
      `,
    )
    await victim.recorder.until(() => (victim.recorder.named('setPoint').length > 1 ? true : undefined))
    victim.isolate.deliverEvent('own', json())
    assert.equal(await victim.recorder.logged('level'), 'info level\t7')
    await assert.rejects(victim.isolate.setControl('level', 1), /too slow to be asked again so soon/)
    caller.isolate.deliverEvent('end', json())
    // With 21 questions it would be as often; 2 s leave a pause of 7 s.
    assert.match(await caller.recorder.logged('asked'), /^info asked\t[1-4]$/)
  })
})
