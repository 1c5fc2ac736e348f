import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { initialTransition, transition } from 'xstate'
import { pluginLifecycle } from '../../machines/plugin-lifecycle.ts'
import { evolvePlugin, initialPlugin, type PluginSnapshot } from '../../src/journal/fold/evolve.ts'
import { type PluginFact, pluginFacts } from '../../src/schema/journal/journal-event.ts'
import { type PluginState, pluginStates } from '../../src/schema/plugin/plugin.ts'

const id = '@fixtures/hello'
const at = '2026-01-01T00:00:00.000Z'
const release = {
  version: '1.0.0',
  indexVersion: '1.0.0',
  repository: 'fixtures',
  integrity: { 'init.lua': 'aa' },
}
const error = { code: 'lua_error', message: 'init.lua:1: broken', at }

/** A fact of every type, with data that its schema accepts. */
const facts: { [T in PluginFact['type']]: Extract<PluginFact, { type: T }> } = {
  PluginInstallRequested: {
    type: 'PluginInstallRequested',
    plugin: id,
    data: { repository: 'fixtures', version: '1.0.0' },
  },
  PluginInstallFailed: { type: 'PluginInstallFailed', plugin: id, data: { error } },
  PluginInstalled: { type: 'PluginInstalled', plugin: id, data: release },
  PluginEnabled: { type: 'PluginEnabled', plugin: id, data: {} },
  PluginDisabled: { type: 'PluginDisabled', plugin: id, data: {} },
  PluginConfigured: { type: 'PluginConfigured', plugin: id, data: { config: { name: 'x' } } },
  PluginLimitsChanged: { type: 'PluginLimitsChanged', plugin: id, data: { limits: { timers: 5 } } },
  PluginHookSecretChanged: {
    type: 'PluginHookSecretChanged',
    plugin: id,
    data: { hookSecret: 'h0oK-5ecret' },
  },
  PluginLimitReached: { type: 'PluginLimitReached', plugin: id, data: { limit: 'timers', value: 5 } },
  PluginLoadRequested: { type: 'PluginLoadRequested', plugin: id, data: { reason: 'startup' } },
  PluginLoaded: { type: 'PluginLoaded', plugin: id, data: {} },
  PluginLoadFailed: { type: 'PluginLoadFailed', plugin: id, data: { error } },
  PluginUnloadRequested: { type: 'PluginUnloadRequested', plugin: id, data: { reason: 'shutdown' } },
  PluginUnloaded: { type: 'PluginUnloaded', plugin: id, data: {} },
  PluginCrashed: { type: 'PluginCrashed', plugin: id, data: { error } },
  PluginStabilized: { type: 'PluginStabilized', plugin: id, data: {} },
  PluginUpdated: {
    type: 'PluginUpdated',
    plugin: id,
    data: { ...release, version: '2.0.0', integrity: { 'init.lua': 'bb' } },
  },
  PluginFilesRestored: {
    type: 'PluginFilesRestored',
    plugin: id,
    data: { ...release, source: 'repository' },
  },
  PluginVersionConfirmed: { type: 'PluginVersionConfirmed', plugin: id, data: { indexVersion: '3.0.0' } },
  PluginRolledBack: { type: 'PluginRolledBack', plugin: id, data: { reason: 'asked for' } },
  PluginUninstalled: { type: 'PluginUninstalled', plugin: id, data: { purged: [] } },
  PluginPlaced: { type: 'PluginPlaced', plugin: id, data: { placement: { labels: ['serial'] } } },
  PluginMoved: {
    type: 'PluginMoved',
    plugin: id,
    data: { from: null, to: 'a', epoch: 1, reason: 'start', keepsRevision: true },
  },
}

type Type = PluginFact['type']

function follow(types: readonly Type[], from: PluginSnapshot = initialPlugin(id)): PluginSnapshot {
  return types.reduce((snapshot, type) => {
    const next = evolvePlugin(snapshot, facts[type], at)
    assert.ok(next, `${type} is refused in ${snapshot.value}`)
    return next
  }, from)
}

const installed: Type[] = ['PluginInstallRequested', 'PluginInstalled']
const running: Type[] = [...installed, 'PluginEnabled', 'PluginLoaded']

/** One way into every state. */
const ways: Record<PluginState, Type[]> = {
  notInstalled: [],
  installing: ['PluginInstallRequested'],
  installed,
  loading: [...installed, 'PluginEnabled'],
  running,
  unloading: [...running, 'PluginDisabled'],
  unloaded: [...running, 'PluginDisabled', 'PluginUnloaded'],
  failed: [...installed, 'PluginEnabled', 'PluginLoadFailed'],
  uninstalled: [...installed, 'PluginUninstalled'],
}

/** All that may happen, from these ways in; what is not named is refused. */
const transitions: Record<PluginState, Partial<Record<Type, PluginState>>> = {
  notInstalled: { PluginInstallRequested: 'installing' },
  installing: { PluginInstalled: 'installed', PluginInstallFailed: 'notInstalled' },
  installed: {
    PluginPlaced: 'installed',
    PluginMoved: 'installed',
    PluginConfigured: 'installed',
    PluginLimitsChanged: 'installed',
    PluginHookSecretChanged: 'installed',
    PluginEnabled: 'loading',
    PluginUpdated: 'installed',
    PluginFilesRestored: 'installed',
    PluginVersionConfirmed: 'installed',
    PluginUninstalled: 'uninstalled',
  },
  loading: {
    PluginPlaced: 'loading',
    PluginMoved: 'loading',
    PluginHookSecretChanged: 'loading',
    PluginLimitReached: 'loading',
    PluginFilesRestored: 'loading',
    PluginLoaded: 'running',
    PluginLoadFailed: 'failed',
    PluginUnloaded: 'unloaded',
  },
  running: {
    PluginPlaced: 'running',
    PluginMoved: 'running',
    PluginConfigured: 'running',
    PluginLimitsChanged: 'running',
    PluginHookSecretChanged: 'running',
    PluginLimitReached: 'running',
    PluginDisabled: 'unloading',
    PluginUnloadRequested: 'unloading',
    PluginCrashed: 'failed',
    PluginStabilized: 'running',
    PluginVersionConfirmed: 'running',
    PluginUnloaded: 'unloaded',
  },
  unloading: {
    PluginPlaced: 'unloading',
    PluginMoved: 'unloading',
    PluginHookSecretChanged: 'unloading',
    PluginLimitReached: 'unloading',
    PluginUnloaded: 'unloaded',
  },
  unloaded: {
    PluginPlaced: 'unloaded',
    PluginMoved: 'unloaded',
    PluginConfigured: 'unloaded',
    PluginLimitsChanged: 'unloaded',
    PluginHookSecretChanged: 'unloaded',
    PluginEnabled: 'loading',
    PluginUpdated: 'unloaded',
    PluginFilesRestored: 'unloaded',
    PluginVersionConfirmed: 'unloaded',
    PluginUninstalled: 'uninstalled',
  },
  failed: {
    PluginPlaced: 'failed',
    PluginMoved: 'failed',
    PluginConfigured: 'failed',
    PluginLimitsChanged: 'failed',
    PluginHookSecretChanged: 'failed',
    PluginDisabled: 'unloaded',
    PluginLoadRequested: 'loading',
    PluginUpdated: 'failed',
    PluginFilesRestored: 'failed',
    PluginVersionConfirmed: 'failed',
    PluginUninstalled: 'uninstalled',
  },
  uninstalled: { PluginInstallRequested: 'installing' },
}

for (const state of pluginStates) {
  test(`from ${state} exactly the facts of the table are possible, and lead where it says`, () => {
    const snapshot = follow(ways[state])
    assert.equal(snapshot.value, state)
    const found: Partial<Record<Type, PluginState>> = {}
    for (const type of Object.keys(pluginFacts) as Type[]) {
      const next = evolvePlugin(snapshot, facts[type], at)
      if (next !== undefined) found[type] = next.value
    }
    assert.deepEqual(found, transitions[state])
  })
}

/** What these facts record, in whatever state they come. */
const recorded: Partial<Record<Type, Partial<PluginSnapshot['context']>>> = {
  PluginInstallFailed: { error },
  PluginEnabled: { enabled: true },
  PluginDisabled: { enabled: false },
  PluginConfigured: { config: { name: 'x' } },
  PluginLimitsChanged: { limits: { timers: 5 } },
  PluginHookSecretChanged: { hookSecret: 'h0oK-5ecret' },
  PluginLimitReached: { limitsReached: [{ limit: 'timers', value: 5, at }] },
  PluginLoadFailed: { error },
  PluginCrashed: { error, crashes: 1 },
  PluginUpdated: { version: '2.0.0', integrity: { 'init.lua': 'bb' } },
  PluginFilesRestored: release,
  PluginVersionConfirmed: { indexVersion: '3.0.0' },
  PluginRolledBack: { ...release, config: { name: 'x' } },
  PluginPlaced: { placement: { labels: ['serial'] } },
  PluginMoved: { host: 'a', epoch: 1 },
  PluginUninstalled: {
    ...{ enabled: false, version: null, indexVersion: null, repository: null, integrity: {}, kept: [] },
    ...{ config: {}, limits: {}, hookSecret: undefined, placement: undefined, trial: null, error: null },
  },
}

/** The host notices or changes these by itself, too, and says then that the revision of the owner's settings stays. */
const mayKeepRevision: ReadonlySet<Type> = new Set([
  ...([
    'PluginHookSecretChanged',
    'PluginLimitReached',
    'PluginStabilized',
    'PluginVersionConfirmed',
  ] as const),
  ...(['PluginPlaced', 'PluginMoved'] as const),
])

test('whatever happens is recorded in every state, and raises the revision by one unless it says that it keeps it', () => {
  const settings: Type[] = [
    'PluginConfigured',
    'PluginLimitsChanged',
    'PluginHookSecretChanged',
    'PluginPlaced',
  ]
  const settled = (['installed', 'unloaded', 'failed'] as const).map((state) =>
    follow([...ways[state], ...settings, 'PluginUpdated']),
  )
  const data = (type: Type, keeps: boolean): object => {
    const { keepsRevision: _keepsRevision, ...rest } = facts[type].data as { keepsRevision?: true }
    return keeps ? { ...rest, keepsRevision: true } : rest
  }
  for (const before of [...pluginStates.map((state) => follow(ways[state])), ...settled])
    for (const type of Object.keys(pluginFacts) as Type[])
      for (const keeps of mayKeepRevision.has(type) ? [false, true] : [false]) {
        const after = evolvePlugin(before, { ...facts[type], data: data(type, keeps) } as PluginFact, at)
        if (after === undefined) continue
        const title = `${type} in ${before.value}`
        assert.equal(after.context.revision, before.context.revision + (keeps ? 0 : 1), title)
        const expected = Object.entries(recorded[type] ?? {}) as [keyof PluginSnapshot['context'], unknown][]
        if (keeps && type === 'PluginLimitReached') continue
        for (const [member, value] of expected) assert.deepEqual(after.context[member], value, title)
      }
})

/** The rows of the specification's section 3: state before, facts that its trigger makes true, state after. */
const rows: [title: string, before: Type[], then: Type[], after: PluginState][] = [
  ['install', [], ['PluginInstallRequested', 'PluginInstalled'], 'installed'],
  ['toggle on after the installation', installed, ['PluginEnabled', 'PluginLoaded'], 'running'],
  ['toggle on when disabled', ways.unloaded, ['PluginEnabled', 'PluginLoaded'], 'running'],
  [
    'server start with an enabled plugin',
    [...running, 'PluginUnloadRequested', 'PluginUnloaded'],
    ['PluginLoadRequested', 'PluginLoaded'],
    'running',
  ],
  ['toggle off', running, ['PluginDisabled', 'PluginUnloaded'], 'unloaded'],
  ['server shutdown', running, ['PluginUnloadRequested', 'PluginUnloaded'], 'unloaded'],
  [
    'config while running',
    running,
    ['PluginConfigured', 'PluginUnloadRequested', 'PluginUnloaded', 'PluginLoadRequested', 'PluginLoaded'],
    'running',
  ],
  ['config while installed', installed, ['PluginConfigured'], 'installed'],
  ['config while disabled', ways.unloaded, ['PluginConfigured'], 'unloaded'],
  [
    'delete while running',
    running,
    ['PluginUnloadRequested', 'PluginUnloaded', 'PluginUninstalled'],
    'uninstalled',
  ],
  ['delete while installed', installed, ['PluginUninstalled'], 'uninstalled'],
  ['delete while disabled', ways.unloaded, ['PluginUninstalled'], 'uninstalled'],
]

for (const [title, before, then, after] of rows) {
  test(`the specification's row "${title}" ends in ${after}`, () => {
    assert.equal(follow(then, follow(before)).value, after)
  })
}

test('a new installation starts disabled, with an empty config, also after one that had a config', () => {
  const { context } = follow([...installed, 'PluginConfigured', 'PluginUninstalled', ...installed])
  assert.deepEqual(
    {
      enabled: context.enabled,
      config: context.config,
      version: context.version,
      revision: context.revision,
    },
    { enabled: false, config: {}, version: '1.0.0', revision: 6 },
  )
})

test('a failed installation of a plugin that was there before leads back to uninstalled', () => {
  const { value, context } = follow([...ways.uninstalled, 'PluginInstallRequested', 'PluginInstallFailed'])
  assert.deepEqual({ value, error: context.error }, { value: 'uninstalled', error })
})

test('a rollback returns to the version before the update, with the config it had', () => {
  const updated = follow([...installed, 'PluginConfigured', 'PluginUpdated'])
  const reconfigured = evolvePlugin(
    updated,
    { type: 'PluginConfigured', plugin: id, data: { config: { name: 'y' } } },
    at,
  )
  assert.ok(reconfigured)
  const { context } = follow(['PluginRolledBack'], reconfigured)
  assert.deepEqual(
    { version: context.version, config: context.config, kept: context.kept },
    {
      version: '1.0.0',
      config: { name: 'x' },
      kept: [
        { ...release, version: '2.0.0', integrity: { 'init.lua': 'bb' }, config: { name: 'y' }, keptAt: at },
      ],
    },
  )
})

/** What an update of a running plugin leaves, with the new version running. */
const onTrial: Type[] = [
  ...running,
  'PluginUnloadRequested',
  'PluginUnloaded',
  'PluginUpdated',
  'PluginLoadRequested',
  'PluginLoaded',
]

test('an update of an enabled plugin is on trial until it is stable, and only then', () => {
  assert.deepEqual(follow(onTrial).context.trial, { from: '1.0.0', since: at })
  assert.equal(follow([...onTrial, 'PluginStabilized']).context.trial, null)
  assert.equal(follow([...onTrial, 'PluginCrashed', 'PluginRolledBack']).context.trial, null)
  assert.equal(follow([...installed, 'PluginUpdated']).context.trial, null)
})

test('so many replaced versions are kept, the latest first, and any of them can be returned to', () => {
  const versions = ['2.0.0', '3.0.0', '4.0.0', '5.0.0']
  const updated = versions.reduce((snapshot, version) => {
    const data = { ...release, version, integrity: { 'init.lua': version } }
    const next = evolvePlugin(snapshot, { type: 'PluginUpdated', plugin: id, data }, at)
    assert.ok(next)
    return next
  }, follow(installed))
  const kept = ({ context }: PluginSnapshot): string[] => context.kept.map(({ version }) => version)
  assert.deepEqual(kept(updated), ['4.0.0', '3.0.0', '2.0.0'])
  const back = {
    type: 'PluginRolledBack',
    plugin: id,
    data: { reason: 'asked for', version: '2.0.0' },
  } as const
  const returned = evolvePlugin(updated, back, at)
  assert.ok(returned)
  assert.deepEqual([returned.context.version, kept(returned)], ['2.0.0', ['5.0.0', '4.0.0', '3.0.0']])
  const unknown = { ...back, data: { ...back.data, version: '1.0.0' } }
  assert.equal(evolvePlugin(updated, unknown, at), undefined)
})

const crash = (crashes: number, restart: { attempt: number; delay: number } | null): PluginFact => ({
  type: 'PluginCrashed',
  plugin: id,
  data: { error, ranFor: 10, crashes, restart },
})

test('crashes are counted over automatic loads, and forgotten when somebody takes care or it is stable', () => {
  const crashed = evolvePlugin(follow(running), crash(2, { attempt: 2, delay: 100 }), at)
  assert.ok(crashed)
  assert.deepEqual([crashed.context.crashes, crashed.context.restart], [2, { attempt: 2, delay: 100 }])
  const load = (automatic: boolean): PluginFact => ({
    type: 'PluginLoadRequested',
    plugin: id,
    data: { reason: 'test', ...(automatic ? { automatic } : {}) },
  })
  const again = evolvePlugin(crashed, load(true), at)
  assert.deepEqual([again?.context.crashes, again?.context.restart], [2, null])
  assert.equal(evolvePlugin(crashed, load(false), at)?.context.crashes, 0)
  assert.ok(again)
  assert.equal(follow(['PluginLoaded', 'PluginStabilized'], again).context.crashes, 0)
})

test('in safe mode a plugin is enabled without being loaded', () => {
  const deferred = { type: 'PluginEnabled', plugin: id, data: { deferred: true } } as const
  for (const way of [ways.installed, ways.unloaded]) {
    const enabled = evolvePlugin(follow(way), deferred, at)
    assert.deepEqual([enabled?.value, enabled?.context.enabled], ['unloaded', true])
  }
})

test('a plugin moves with a newer epoch only: who held it before has no word any more', () => {
  const moveTo = (to: string, epoch: number) =>
    ({ type: 'PluginMoved', plugin: id, data: { from: null, to, epoch, reason: 'start' } }) as const
  const moved = evolvePlugin(follow(running), moveTo('a', 4), at)
  assert.ok(moved)
  assert.deepEqual([moved.context.host, moved.context.epoch], ['a', 4])
  assert.deepEqual(
    [3, 4].map((epoch) => evolvePlugin(moved, moveTo('b', epoch), at)),
    [undefined, undefined],
  )
  assert.equal(evolvePlugin(moved, moveTo('b', 5), at)?.context.host, 'b')
})

test('a plugin that never loaded is not loaded at a start while it is disabled', () => {
  assert.equal(evolvePlugin(follow(ways.unloaded), facts.PluginLoadRequested, at), undefined)
})

test('the machine is pure: the same fact gives the same snapshot and no action to perform', () => {
  const [initial] = initialTransition(pluginLifecycle, { id })
  const event = { ...facts.PluginInstallRequested, at }
  const [first, actions] = transition(pluginLifecycle, initial, event)
  const [second] = transition(pluginLifecycle, initial, event)
  assert.deepEqual(first.toJSON(), second.toJSON())
  assert.deepEqual(
    actions.filter(({ type }) => !type.startsWith('xstate.')),
    [],
  )
})

test('machines import nothing that runs but xstate', async () => {
  for (const file of ['plugin-lifecycle.ts', 'host.ts']) {
    const source = await readFile(join(import.meta.dirname, '..', '..', 'machines', file), 'utf8')
    const imports = [...source.matchAll(/^import (?!type ).* from '(.*)'$/gm)].map(([, from]) => from)
    assert.deepEqual(imports, ['xstate'], file)
  }
})

test('limits are the owner’s and stay with an update and a way back; an installation begins without', () => {
  const limited = follow([...installed, 'PluginLimitsChanged', 'PluginUpdated', 'PluginRolledBack'])
  assert.deepEqual(limited.context.limits, { timers: 5 })
  assert.deepEqual(follow(['PluginUninstalled', ...installed], limited).context.limits, {})
})

test('what the host notices of a running plugin keeps its revision; in older journals it has raised it', () => {
  const before = follow(running)
  const { revision } = before.context
  const noticed: PluginFact[] = [
    { type: 'PluginLimitReached', plugin: id, data: { limit: 'timers', value: 5, keepsRevision: true } },
    { type: 'PluginStabilized', plugin: id, data: { keepsRevision: true } },
  ]
  const after = noticed.reduce((snapshot, fact) => evolvePlugin(snapshot, fact, at) ?? snapshot, before)
  assert.deepEqual([after.context.revision, after.context.limitsReached.length], [revision, 1])
  const older = follow(['PluginLimitReached', 'PluginStabilized'], before)
  assert.equal(older.context.revision, revision + 2)
})

test('a limit that was reached is told once, with its last value, until the plugin is loaded again', () => {
  const data = { limit: 'objects', value: 7 } as const
  const other = evolvePlugin(follow(running), { type: 'PluginLimitReached', plugin: id, data }, at)
  const reached = follow(['PluginLimitReached', 'PluginLimitReached', 'PluginCrashed'], other)
  assert.deepEqual(reached.context.limitsReached, [
    { limit: 'objects', value: 7, at },
    { limit: 'timers', value: 5, at },
  ])
  assert.deepEqual(follow(['PluginLoadRequested'], reached).context.limitsReached, [])
})
