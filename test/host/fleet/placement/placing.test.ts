import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../../../../src/base/problem.ts'
import type { Seen, SessionRecord } from '../../../../src/fleet/leases/records.ts'
import { initialLeaseState } from '../../../../src/fleet/leases/state.ts'
import { moveReason } from '../../../../src/host/fleet/placement/move-reason.ts'
import { createFleetPlacing } from '../../../../src/host/fleet/placement/placing.ts'
import type { Plugin } from '../../../../src/schema/plugin/plugin.ts'

const plugin = '@a/lamp'

test('the history tells why a plugin has come to another host', () => {
  const alive = { record: { session: '0-x-0', n: 1 }, revision: 1, at: 0 }
  const state = {
    ...initialLeaseState({ host: 'attic', process: 'p' }),
    hosts: new Map<string, Seen<SessionRecord>>([
      ['cellar', alive],
      ['full', alive],
      ['dead', { ...alive, record: null }],
    ]),
    descriptions: new Map([
      ['cellar', { labels: ['serial'], draining: true }],
      ['full', { labels: [], draining: false }],
    ]),
  }
  const together = { ...state, wanted: new Map([[plugin, { together: '@a/bus' }]]) }
  const cases: [typeof state, Parameters<typeof moveReason>[2], string][] = [
    [state, {}, 'it was installed'],
    [state, { host: 'attic' }, 'its host is back'],
    [state, { host: 'dead' }, 'dead is gone'],
    [state, { host: 'cellar' }, 'cellar is being drained'],
    [state, { host: 'full', placement: { host: 'attic' } }, 'it is placed on the host attic'],
    [
      state,
      { host: 'full', placement: { labels: ['serial'] } },
      'it is placed on a host with the labels serial',
    ],
    [together, { host: 'full' }, 'it shares a host with what it depends on, or with what depends on it'],
    [state, { host: 'full', placement: {} }, 'full had more plugins'],
  ]
  for (const [from, context, reason] of cases) assert.equal(moveReason(from, plugin, context), reason)
})

test('a placement on a host that goes just then is replaced all the same', async () => {
  let hasNone = false
  const placed: unknown[] = []
  const place = createFleetPlacing({
    plugins: () => [],
    labels: () => new Map(),
    hasNone: () => hasNone,
    isHere: () => false,
    async place(...given) {
      placed.push(given)
      return {} as Plugin
    },
    placeThere() {
      hasNone = true
      return Promise.reject(new Problem('no_other_host', 'Nothing was changed.'))
    },
  })
  await place(plugin, {}, { by: 'http' })
  assert.deepEqual(placed, [[plugin, {}, { by: 'http' }]])
})
