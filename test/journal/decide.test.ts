import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Command, decide, requireRevision } from '../../src/journal/fold/decide.ts'
import { evolvePlugin, initialPlugin, type PluginSnapshot } from '../../src/journal/fold/evolve.ts'
import type { PluginFact } from '../../src/schema/journal/journal-event.ts'
import { id, installation } from '../helpers/any-fact.ts'

/** What a command comes to in each state, without a host: facts, nothing, or why not. */

const at = '2026-01-01T00:00:00.000Z'
const fact = (type: PluginFact['type'], data: object = {}) =>
  ({ type, plugin: id, data }) as unknown as PluginFact

function after(facts: readonly PluginFact[]): PluginSnapshot {
  return facts.reduce((snapshot, one) => {
    const next = evolvePlugin(snapshot, one, at)
    assert.ok(next, one.type)
    return next
  }, initialPlugin(id))
}

const error = { code: 'lua_error', message: 'x', at }
const update = (version: string) =>
  fact('PluginUpdated', { version, indexVersion: null, repository: null, integrity: { 'init.lua': version } })
const loading = [...installation(id), fact('PluginEnabled')]
const ways = {
  notInstalled: [],
  installing: installation(id).slice(0, 1),
  installed: installation(id),
  loading,
  running: [...loading, fact('PluginLoaded')],
  failed: [...loading, fact('PluginLoadFailed', { error })],
  unloaded: [
    ...loading,
    fact('PluginLoaded'),
    fact('PluginUnloadRequested', { reason: 'x' }),
    fact('PluginUnloaded'),
  ],
  updated: [...installation(id), update('2.0.0')],
  updatedTwice: [...installation(id), update('2.0.0'), update('3.0.0')],
  /** Back from 3.0.0, which did not run. */
  returned: [
    ...installation(id),
    update('2.0.0'),
    update('3.0.0'),
    fact('PluginRolledBack', { reason: 'x', version: '2.0.0', automatic: true }),
  ],
  /** The only one that is kept did not run. */
  onlyFailed: [
    ...installation(id),
    update('2.0.0'),
    fact('PluginRolledBack', { reason: 'x', version: '1.0.0', automatic: true }),
  ],
} satisfies Record<string, PluginFact[]>

type Way = keyof typeof ways
type Outcome = [type: PluginFact['type'], data: object] | 'nothing' | RegExp

const install: Command = { type: 'install', repository: 'r', version: null }
const cases: [way: Way, command: Command, outcome: Outcome][] = [
  ['notInstalled', install, ['PluginInstallRequested', { repository: 'r', version: null }]],
  ['installing', install, /^invalid_transition: .* being installed already/],
  ['installed', install, /^already_installed: /],
  ['notInstalled', { type: 'toggle', enabled: false }, /^plugin_not_installed: /],
  ['installing', { type: 'configure', config: {} }, /^plugin_not_installed: /],
  ['installed', { type: 'toggle', enabled: undefined }, ['PluginEnabled', {}]],
  ['installed', { type: 'toggle', enabled: false }, 'nothing'],
  ['installed', { type: 'toggle', enabled: true, deferred: false }, ['PluginEnabled', {}]],
  ['installed', { type: 'toggle', enabled: true, deferred: true }, ['PluginEnabled', { deferred: true }]],
  ['running', { type: 'toggle', enabled: undefined, deferred: true }, ['PluginDisabled', {}]],
  ['running', { type: 'toggle', enabled: true }, 'nothing'],
  [
    'loading',
    { type: 'toggle', enabled: false },
    /^invalid_transition: .* is loading; PluginDisabled is not/,
  ],
  ['running', { type: 'configure', config: { a: 1 } }, ['PluginConfigured', { config: { a: 1 } }]],
  ['running', { type: 'limit', limits: { timers: 5 } }, ['PluginLimitsChanged', { limits: { timers: 5 } }]],
  ['running', { type: 'place', placement: { host: 'a' } }, ['PluginPlaced', { placement: { host: 'a' } }]],
  [
    'running',
    { type: 'changeHookSecret', hookSecret: 's' },
    ['PluginHookSecretChanged', { hookSecret: 's' }],
  ],
  ['installed', { type: 'reload' }, /^invalid_transition: .* is disabled/],
  ['running', { type: 'reload' }, ['PluginUnloadRequested', { reason: 'reload' }]],
  ['failed', { type: 'reload' }, 'nothing'],
  ['running', { type: 'unload', reason: 'shutdown' }, ['PluginUnloadRequested', { reason: 'shutdown' }]],
  ['unloaded', { type: 'unload', reason: 'shutdown' }, 'nothing'],
  ['unloaded', { type: 'load', reason: 'startup' }, ['PluginLoadRequested', { reason: 'startup' }]],
  [
    'failed',
    { type: 'load', reason: 'restart', automatic: true },
    ['PluginLoadRequested', { reason: 'restart', automatic: true }],
  ],
  ['running', { type: 'load', reason: 'startup' }, /^invalid_transition: /],
  ['installed', { type: 'rollback', reason: 'x' }, /^invalid_transition: .* has not been updated/],
  [
    'updated',
    { type: 'rollback', reason: 'x', formerSecrets: ['a'] },
    ['PluginRolledBack', { reason: 'x', formerSecrets: ['a'], version: '1.0.0', from: '2.0.0' }],
  ],
  [
    'updated',
    { type: 'rollback', reason: 'x', version: '9.0.0' },
    /^invalid_transition: Version 9\.0\.0 .*; 1\.0\.0 can/,
  ],
  [
    'updatedTwice',
    { type: 'rollback', reason: 'x' },
    ['PluginRolledBack', { reason: 'x', version: '2.0.0', from: '3.0.0' }],
  ],
  // Past the one that did not run, unless it is asked for by name.
  [
    'returned',
    { type: 'rollback', reason: 'x' },
    ['PluginRolledBack', { reason: 'x', version: '1.0.0', from: '2.0.0' }],
  ],
  [
    'returned',
    { type: 'rollback', reason: 'x', version: '3.0.0' },
    ['PluginRolledBack', { reason: 'x', version: '3.0.0', from: '2.0.0' }],
  ],
  [
    'onlyFailed',
    { type: 'rollback', reason: 'x' },
    /^invalid_transition: No version .* name one .*: 2\.0\.0\.$/,
  ],
  ['installed', { type: 'uninstall', purged: ['kv'] }, ['PluginUninstalled', { purged: ['kv'] }]],
  ['running', { type: 'uninstall', purged: [] }, /^invalid_transition: /],
]

function outcomeOf(way: Way, command: Command): PluginFact[] | string {
  try {
    return decide(after(ways[way]), command)
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    return `${code}: ${message}`
  }
}

test('a command is a fact, nothing where it is so already, or refused with the reason', () => {
  for (const [way, command, outcome] of cases) {
    const found = outcomeOf(way, command)
    const what = `${way}: ${JSON.stringify(command)}`
    if (outcome instanceof RegExp) assert.match(typeof found === 'string' ? found : '', outcome, what)
    else if (outcome === 'nothing') assert.deepEqual(found, [], what)
    else assert.deepEqual(found, [fact(...outcome)], what)
  }
})

test('a command with a revision is refused once the plugin has another one', () => {
  const snapshot = after(ways.running)
  const { revision } = snapshot.context
  requireRevision(snapshot, undefined)
  requireRevision(snapshot, revision)
  for (const other of [0, revision - 1, revision + 1])
    assert.throws(() => requireRevision(snapshot, other), { code: 'revision_conflict' })
})
