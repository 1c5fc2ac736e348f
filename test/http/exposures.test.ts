import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { lampPlugin } from '../helpers/lamp-plugin.ts'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'

/** What a plugin shows with `expose()`, over HTTP. */

const lamp = '/api/plugins/@fixtures/lamp'

let host: TestHost
before(async () => {
  host = await startTestHost({ plugins: [lampPlugin] })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/lamp' } })
  await host.request('POST', `${lamp}/config`, { body: { config: { room: 'kitchen' } } })
})
after(() => host.close())

interface Shown {
  id: string
  exposure: Record<string, unknown>
  state: Record<string, unknown>
}

/** What is exposed once the first values are known. */
function exposures(known: (shown: Shown[]) => boolean): Promise<Shown[]> {
  return until('what is exposed', async () => {
    const { status, body } = await host.request('GET', `${lamp}/exposures`)
    assert.equal(status, 200)
    return known(body.exposures) && body.exposures
  })
}

test('nothing is exposed while the plugin is off', async () => {
  const { status, body } = await host.request('GET', `${lamp}/exposures`)
  assert.deepEqual([status, body], [200, { exposures: [] }])
  const set = await host.request('PUT', `${lamp}/exposures/bulb/state`, { body: { value: true } })
  assert.deepEqual([set.status, set.body.code], [404, 'control_unknown'])
})

test('what is exposed comes with its component, features and values', async () => {
  await host.request('POST', `${lamp}/toggle`, { body: { enabled: true } })
  const shown = await exposures((all) => all.length === 5 && Object.keys(all[0]?.state ?? {}).length > 0)
  assert.deepEqual(
    shown.map(({ id, exposure }) => [id, exposure.component]),
    [
      ['bulb', 'light'],
      ['level', 'number'],
      ['mood', 'select'],
      ['blink', 'button'],
      ['power', 'sensor'],
    ],
  )
  assert.deepEqual(shown[0], {
    id: 'bulb',
    exposure: {
      component: 'light',
      type: 'light',
      name: 'Bulb',
      area: 'Kitchen',
      features: ['state', 'brightness', 'color', 'effect'],
      writable: ['state', 'brightness', 'color', 'effect'],
      options: ['calm', 'party'],
    },
    state: { state: true, brightness: 120, color: '255,160,0', effect: 'calm' },
  })
})

test('a feature is set, and the plugin knows it', async () => {
  const cases: [path: string, value: unknown][] = [
    ['bulb/brightness', 200],
    ['bulb/state', false],
    ['mood/value', 'cold'],
    ['level/value', 7],
    ['blink/press', true],
  ]
  for (const [path, value] of cases) {
    const { status, body } = await host.request('PUT', `${lamp}/exposures/${path}`, { body: { value } })
    const [id, feature] = path.split('/')
    assert.deepEqual([status, body.id, body.feature], [200, id, feature], JSON.stringify(body))
  }
  const shown = await exposures((all) => all.some(({ id, state }) => id === 'level' && state['value'] === 7))
  assert.deepEqual(Object.fromEntries(shown.map(({ id, state }) => [id, state])), {
    bulb: { state: false, brightness: 200, color: '255,160,0', effect: 'calm' },
    level: { value: 7 },
    mood: { value: 'cold' },
    blink: {},
    power: { value: 42 },
  })
})

test('what cannot be set is refused by name, and with the reason', async () => {
  const cases: [path: string, value: unknown, status: number, code: string, detail: RegExp][] = [
    ['nothing/state', true, 404, 'control_unknown', /exposes nothing as "nothing"/],
    ['bulb/colour', 1, 404, 'control_unknown', /"colour" cannot be set; only state, brightness/],
    ['power/value', 1, 404, 'control_unknown', /nothing of it can/],
    ['bulb/brightness', 256, 422, 'control_value_invalid', /must be at most 255/],
    ['mood/value', 'hot', 422, 'control_value_invalid', /must be one of warm, cold/],
  ]
  for (const [path, value, status, code, detail] of cases) {
    const answer = await host.request('PUT', `${lamp}/exposures/${path}`, { body: { value } })
    assert.deepEqual([answer.status, answer.body.code], [status, code], path)
    assert.match(answer.body.detail, detail)
  }
})
