import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'
import { type StageEvent, startOnStage } from '../../test/helpers/plugin-stage.ts'
import { startStarterPlugin } from '../../test/helpers/starter-plugin.ts'
import { starterRows } from '../../test/helpers/starter-rows.ts'

/** A message that never comes is a failure, not a wait without end. */
const timeout = 30_000
const folder = fileURLToPath(new URL('.', import.meta.url))

/**
 * A watch with Anna and Ben and a time-out of 100 seconds; the calls answer what each step answers. The fourth part of a step
 * is the clock that only moves forward, where it is another than the time of day.
 */
const probe = `
local watch = require("watch")
return {
  play = function(steps, lastSeen)
    local house, answers = watch.new(100), {}
    house:add("anna", "Anna", lastSeen, 1000, 1000)
    house:add("ben", "Ben", nil, 1000, 1000)
    for index, step in ipairs(steps) do
      local answer
      if step[1] == "expire" then
        answer = table.concat(house:expire(step[2], step[4] or step[2]), ",")
      else
        answer = tostring(house[step[1]](house, step[3], step[2], step[4] or step[2]))
      end
      answers[index] = answer .. " " .. house:count()
    end
    return answers
  end,
  meanings = function(payloads)
    local answers = {}
    for index, payload in ipairs(payloads) do answers[index] = tostring(watch.meaning(payload)) end
    return answers
  end,
}`
const lua = openLuaModules(folder, { probe: new TextEncoder().encode(probe) })

test('somebody arrives when seen, and leaves when not seen for the time-out', () => {
  const steps = [
    ['seen', 1000, 'anna'],
    ['seen', 1050, 'anna'],
    ['seen', 1060, 'ben'],
    ['expire', 1149],
    ['expire', 1150],
    ['gone', 1151, 'ben'],
    ['gone', 1152, 'ben'],
    ['expire', 9999],
    ['seen', 10_000, 'ben'],
  ]
  assert.deepEqual(lua.call('probe', 'play', steps)[0], [
    'true 1',
    'false 1',
    'true 2',
    ' 2',
    'anna 1',
    'true 0',
    'false 0',
    ' 0',
    'true 1',
  ])
})

test('who was home before a restart is home for the rest of the time-out', () => {
  const steps = [
    ['expire', 1000],
    ['expire', 1039],
    ['expire', 1040],
  ]
  assert.deepEqual(lua.call('probe', 'play', steps, 940)[0], [' 1', ' 1', 'anna 0'])
  assert.deepEqual(lua.call('probe', 'play', steps, 900)[0], [' 0', ' 0', ' 0'])
})

test('a clock that was set back keeps nobody home for ever', () => {
  const steps = [
    ['seen', 5000, 'anna', 1000],
    ['expire', 1000, '', 1099],
    ['expire', 1100, '', 1100],
  ]
  assert.deepEqual(lua.call('probe', 'play', steps)[0], ['true 1', ' 1', 'anna 0'])
  // And where it was written down before a restart that it is later.
  const restarted = [
    ['expire', 1000],
    ['expire', 1099],
    ['expire', 1100],
  ]
  assert.deepEqual(lua.call('probe', 'play', restarted, 9_999_999)[0], [' 1', ' 1', 'anna 0'])
})

/** Anna alone, with a time-out of 100 seconds. */
function startWithAnna() {
  const people = [{ name: 'Anna', topics: ['phones/anna'] }]
  return startOnStage(folder, 0, { people, timeout: 100, interval: 60 })
}

const names = (events: StageEvent[]): unknown[] => events.map(({ name, at }) => [name, at])

test('while the host is paused nobody leaves: what came meanwhile is heard afterwards', () => {
  const stage = startWithAnna()
  stage.receive('phones/anna', 'here')
  stage.advance(50)
  assert.deepEqual(stage.pause(3_600), [])
  assert.deepEqual(stage.receive('phones/anna', 'here'), [])
  assert.deepEqual(stage.advance(99), [])
  assert.deepEqual(names(stage.advance(2)), [['presence:left', 3_750]])
})

test('who is not heard of after a pause either leaves when the rest of the time-out is over', () => {
  const stage = startWithAnna()
  stage.receive('phones/anna', 'here')
  stage.advance(50)
  stage.pause(3_600)
  assert.deepEqual(names(stage.advance(60)), [['presence:left', 3_699]])
})

test('a clock that is set on by years makes nobody leave', () => {
  const stage = startWithAnna()
  assert.deepEqual(names(stage.receive('phones/anna', 'here')), [['presence:arrived', 0]])
  stage.advance(50)
  assert.deepEqual(stage.jump(1_800_000_000), [])
  assert.deepEqual(stage.advance(48), [])
  assert.deepEqual(names(stage.advance(3)), [['presence:left', 1_800_000_100]])
})

test('a message says home, away or nothing', () => {
  const payloads = ['home', '1', '{"x":1}', 'away', ' Not_Home ', 'OFFLINE', 'off', 'false', '0', '']
  assert.deepEqual(lua.call('probe', 'meanings', payloads)[0], [
    'true',
    'true',
    'true',
    'false',
    'false',
    'false',
    'false',
    'false',
    'false',
    'nil',
  ])
})

test('people are read row by row, and what is wrong is said', () => {
  const { rows, errors } = starterRows(folder, 'people', [
    { name: 'Anna Maria', topics: ['phones/anna'], addresses: ['http://192.168.1.2/'] },
    { name: 'Jörg', topics: ['phones/+/joerg'] },
    { name: 'Ben', addresses: ['ftp://x/'] },
    { name: 'ANNA MARIA', topics: ['x'] },
    { name: 'Anyone', topics: ['x'] },
    { name: 'Carl', topics: ['a b'] },
    { name: 'Dora', topics: [] },
    { name: '-', topics: ['x'] },
  ])
  assert.deepEqual(errors, [])
  assert.deepEqual(lua.call('people', 'read', rows), [
    [
      {
        id: 'anna_maria',
        name: 'Anna Maria',
        sources: [{ topic: 'phones/anna' }, { url: 'http://192.168.1.2/' }],
      },
      { id: 'jörg', name: 'Jörg', sources: [{ topic: 'phones/+/joerg' }] },
    ],
    [
      "row 3: 'ftp://x/' is no http or https address",
      "row 4: the name 'ANNA MARIA' is taken",
      "row 5: the name 'Anyone' is taken",
      "row 6: the topic 'a b' has a blank",
      'row 7: a topic or an address is missing',
      "row 8: the name '-' has no letter and no digit",
    ],
  ])
})

test('the lines of earlier versions are rows', () => {
  const text = '# comment\nAnna Maria: phones/anna, http://192.168.1.2/\nnobody\nBen: x'
  assert.deepEqual(starterRows(folder, 'people', text), {
    rows: [
      { name: 'Anna Maria', addresses: ['http://192.168.1.2/'], topics: ['phones/anna'] },
      { name: 'Ben', topics: ['x'] },
    ],
    errors: [],
    unread: ['line 3 ("nobody") is left out: it does not read as {name}: {addresses|topics…}'],
  })
})

test('messages make somebody arrive and leave', { timeout }, async (context) => {
  const plugin = await startStarterPlugin('presence', {
    people: [
      { name: 'Anna', topics: ['phones/anna'] },
      { name: 'Ben', topics: ['phones/ben/#'] },
    ],
  })
  context.after(() => plugin.close())
  const events = await plugin.listen(`${plugin.topic}/events/+`)
  await plugin.publish('phones/anna', 'here')
  await plugin.publish('phones/anna', 'here')
  await plugin.publish('phones/ben/kitchen', 'near')
  await plugin.publish('phones/anna', '')
  await plugin.publish('phones/anna', 'away')
  const told: unknown[] = []
  for (let count = 0; count < 3; count += 1) {
    const { topic, payload } = await events.next()
    const { at, ...rest } = JSON.parse(payload) as Record<string, unknown>
    assert.equal(typeof at, 'number')
    told.push([topic.split('/').pop(), rest])
  }
  assert.deepEqual(told, [
    ['presence:arrived', { id: 'anna', name: 'Anna', home: 1 }],
    ['presence:arrived', { id: 'ben', name: 'Ben', home: 2 }],
    ['presence:left', { id: 'anna', name: 'Anna', home: 1 }],
  ])
  assert.deepEqual(await plugin.sensors(), { anyone: true, anna: false, ben: true })
  assert.equal((await plugin.objects()).ben?.home, true)
  await plugin.restart()
  assert.deepEqual(await plugin.sensors(), { anyone: true, anna: false, ben: true })
})

test(
  'somebody who is not heard of leaves, and a device that answers is somebody',
  { timeout },
  async (context) => {
    let asked = 0
    const device = createServer((request, response) => {
      asked += 1
      response.writeHead(request.method === 'HEAD' ? 401 : 500).end()
      if (asked === 2) device.close()
    })
    await new Promise<void>((resolve) => device.listen(0, '127.0.0.1', resolve))
    const { port } = device.address() as AddressInfo
    const plugin = await startStarterPlugin('presence', {
      people: [{ name: 'Carl', addresses: [`http://127.0.0.1:${port}/`] }],
      timeout: 2,
      interval: 1,
    })
    context.after(() => plugin.close())
    const carl = await plugin.listen(`${plugin.topic}/sensors/carl`)
    const values: unknown[] = []
    do values.push(await carl.nextValue())
    while (values.at(-1) !== true)
    do values.push(await carl.nextValue())
    while (values.at(-1) !== false)
    assert.ok(asked >= 1)
  },
)

test('each person is a presence sensor to Home Assistant', { timeout }, async (context) => {
  const plugin = await startStarterPlugin(
    'presence',
    { people: [{ name: 'Anna', topics: ['phones/anna'] }] },
    { discoveryPrefix: 'homeassistant', hostId: 'home' },
  )
  context.after(() => plugin.close())
  const inbox = await plugin.listen('homeassistant/device/home_starter_presence/config')
  const { cmps } = (await inbox.nextValue()) as { cmps: Record<string, Record<string, unknown>> }
  assert.deepEqual(
    Object.values(cmps).map(({ p, name, device_class }) => [p, name, device_class]),
    [
      ['binary_sensor', 'Anyone', 'occupancy'],
      ['binary_sensor', 'Anna', 'presence'],
    ],
  )
})
