import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { objectAddress, pluginsNamed } from '../../../src/lifecycle/running/plugin-names.ts'
import { writeFixtureRepository } from '../../helpers/fixture-repository.ts'
import { logMessages, startHostFor } from '../../helpers/test-host.ts'

const lock = ['@home/lock', 'door.front'] as const

for (const [installed, path, expected] of [
  [['@home/lock'], 'plugins.home.lock.door.front', lock],
  [['@home/lock', '@home/lock.door'], 'plugins.home.lock.door.front', lock],
  [['@home/lock.door', '@home/lock'], 'plugins.home.lock.door.front', lock],
  [['@home/lock', '@home/lock.door'], '@home/lock.door:front', ['@home/lock.door', 'front']],
  [['@home/lock', '@home/lock.door'], '@home/lock:door.front', lock],
  [['@home/lock.door'], 'plugins.home.lock.door.front', ['@home/lock.door', 'front']],
  // Namespaces may have dots, too.
  [['@home.lock/door', '@home/lock'], 'plugins.home.lock.door.front', lock],
  [['@home/lock.door', '@home.lock/door'], 'plugins.home.lock.door.front', ['@home.lock/door', 'front']],
  [['@home/lock'], 'plugins.home.locks.door', undefined],
  [['@home/lock'], 'home.lock.door', undefined],
  [['@home/lock'], '@home/lock', undefined],
] as const) {
  test(`${path} belongs to ${expected?.[0] ?? 'nobody'} when ${installed.join(' and ')} are installed`, () => {
    const [plugin, relative] = expected ?? []
    assert.deepEqual(
      objectAddress(installed, path),
      expected === undefined ? undefined : { plugin, path: relative },
    )
  })
}

test('a short id names every installed plugin that has it, a full id one', () => {
  const installed = ['@evil/lock', '@home/lock', '@home/lock.door']
  assert.deepEqual(
    ['lock', 'lock.door', '@home/lock', '@home/none', 'none', '', '@'].map((id) =>
      pluginsNamed(installed, id),
    ),
    [['@evil/lock', '@home/lock'], ['@home/lock.door'], ['@home/lock'], [], [], [], []],
  )
})

const objects = (id: string, made: string): { id: string; lua: string } => ({
  id,
  lua: `
    local plugin = Plugin:new("${id}")
    plugin:onInit(function() ${made} end)
    function plugin:who() return plugin.id end
  `,
})
const asker = {
  id: 'asker',
  lua: `
    local plugin = Plugin:new("asker")
    plugin:control("ask", function() return answer end, function(what)
      answer = nil
      if what == "short" then
        local found = Plugin.get("lock")
        local required, problem = pcall(require, "lock")
        answer = { found and found:who() or "nil", required and "required" or problem }
      else
        local object = plugin:getObject(what)
        answer = object and object.of or "nil"
      end
    end)
  `,
}

test('what a name means does not change when a plugin with a similar id is there, or one is switched off', async (t) => {
  const host = await startHostFor(t, {
    plugins: [
      objects('lock', 'plugin:upsertObject("door.front", { of = "lock" })'),
      objects('lock.door', 'plugin:upsertObject("front", { of = "lock.door" })'),
      asker,
    ],
  })
  const send = async (method: string, path: string, body: unknown) => {
    const answer = await host.request(method, `/api/${path}`, { body })
    assert.ok(answer.status < 300, JSON.stringify(answer.body))
    return answer.body
  }
  const evil = join(host.repository, '..', 'evil')
  await writeFixtureRepository(evil, [objects('lock', '')], 'evil')
  await send('POST', 'repositories', { name: 'evil', url: evil })
  const start = async (fullId: string) => {
    await send('POST', 'plugins/install', { fullId })
    await send('POST', `plugins/${encodeURIComponent(fullId)}/toggle`, { enabled: true })
  }
  const ask = async (what: string) =>
    (await send('PUT', `plugins/asker/controls/ask`, { value: what })).value as unknown

  // The one that was there later is the first one to run.
  for (const id of ['lock.door', 'lock', 'asker']) await start(`@fixtures/${id}`)
  const path = 'plugins.fixtures.lock.door.front'
  assert.deepEqual(
    [await ask(path), await ask('@fixtures/lock.door:front'), await ask('@fixtures/lock:door.front')],
    ['lock', 'lock.door', 'lock'],
  )
  assert.deepEqual(await ask('short'), ['@fixtures/lock', 'required'])

  await start('@evil/lock')
  await send('POST', 'plugins/%40fixtures%2Flock/toggle', { enabled: false })
  // It belongs to the one that is off, which has no objects now.
  assert.equal(await ask(path), 'nil')
  const [found, problem] = (await ask('short')) as string[]
  assert.equal(found, 'nil')
  assert.match(problem ?? '', /no plugin 'lock' is running/)
  assert.deepEqual(await logMessages(host, 'asker', '?level=warn'), [
    'Plugin.get: "lock" is the short id of @evil/lock and @fixtures/lock; use the full id',
  ])
})
