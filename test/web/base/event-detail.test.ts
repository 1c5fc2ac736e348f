import assert from 'node:assert/strict'
import { test } from 'node:test'
import { detailOf } from '../../../src/web/base/event-detail.ts'
import type { JournalEvent } from '../../../src/web/base/types.ts'

const error = { code: 'out_of_memory', message: 'out of memory', at: '' }

const details: [type: string, data: JournalEvent['data'], detail: string][] = [
  ['PluginUpdated', { version: '2.0.0' }, 'version 2.0.0'],
  ['PluginUpdated', { version: '2.0.0', from: '1.0.0' }, 'from version 1.0.0 to 2.0.0'],
  ['PluginUpdated', { version: '1.0.0', from: '1.0.0' }, 'to other files of version 1.0.0'],
  ['PluginRolledBack', { reason: 'asked for' }, 'because of: asked for'],
  [
    'PluginLimitReached',
    { limit: 'callbackTime', value: 5_000, keepsRevision: true },
    'Callback time: 5,000 ms',
  ],
  [
    'PluginLimitsChanged',
    { limits: { timers: 100, memory: 256, stringBytes: 1_572_864, operationsPerSecond: 2_000 } },
    'Timers: 100, Memory: 256 MiB, String bytes: 1.5 MiB, Operations per second: 2,000 per second',
  ],
  ['PluginLimitReached', { limit: 'ofLater', value: 1_000 }, 'Of later: 1,000'],
  ['PluginLimitsChanged', { limits: {} }, 'all as for every plugin'],
  ['PluginCrashed', { error }, 'out of memory'],
  [
    'PluginCrashed',
    { error, crashes: 1, restart: { attempt: 1, delay: 1_012 } },
    'out of memory; it is started again after 1.0 seconds',
  ],
  [
    'PluginCrashed',
    { error, crashes: 5, restart: null },
    'out of memory; crash 5 in a row, it is not started again like this',
  ],
  ['PluginLoadFailed', { error }, 'out of memory'],
  [
    'PluginLoadFailed',
    { error, restart: { attempt: 2, delay: 10_000 } },
    'out of memory; it is started again after 10.0 seconds',
  ],
  [
    'PluginLoadFailed',
    { error, restart: { attempt: 14, delay: 21_600_000 } },
    'out of memory; it is started again after 6.0 hours',
  ],
  ['PluginEnabled', {}, ''],
  ['PluginEnabled', { deferred: true }, 'it starts when safe mode ends'],
  ['PluginLoadRequested', { reason: 'config' }, 'because of: new settings'],
  ['PluginLoadRequested', { reason: '@a/b has come or changed' }, 'because of: @a/b has come or changed'],
  [
    'PluginUnloaded',
    { reason: 'interrupted' },
    'because of: the host had been killed, or had ended in the middle of it',
  ],
  ['PluginLoaded', {}, ''],
  [
    'PluginLoaded',
    { changedFiles: ['init.lua', 'plugin.json'] },
    'with files that are not as they were installed: init.lua, plugin.json',
  ],
  ['PluginFilesRestored', { version: '1.0.0', source: 'kept' }, 'version 1.0.0, from the copy that was kept'],
  ['PluginUninstalled', { purged: [] }, ''],
  ['PluginUninstalled', { purged: ['kv', 'files'] }, 'with its stored values and files'],
  ['HostStarted', { host: 'h', hostVersion: '1.0.0' }, 'version 1.0.0'],
  [
    'HostStarted',
    { host: 'h', hostVersion: '1.0.0', afterMemoryKill: true },
    'version 1.0.0, after the system had killed it for want of memory',
  ],
  [
    'HostSafeModeEntered',
    { reason: 'unfinishedStarts', unfinishedStarts: 3 },
    'because of: too many starts in a row did not get as far as ready',
  ],
  [
    'PluginRolledBack',
    { reason: 'asked for', version: '1.0.0', from: '2.0.0' },
    'from version 2.0.0 to 1.0.0, because of: asked for',
  ],
  [
    'PluginMoved',
    { from: null, to: 'attic', epoch: 1, reason: 'it was installed' },
    'to attic, epoch 1: it was installed',
  ],
  [
    'PluginMoved',
    { from: 'attic', to: 'cellar', epoch: 2, reason: 'attic is being drained' },
    'from attic to cellar, epoch 2: attic is being drained',
  ],
  [
    'PluginMoved',
    { from: 'attic', to: 'attic', epoch: 3, reason: 'its host is back' },
    'again on attic, epoch 3: its host is back',
  ],
  ['PluginPlaced', { placement: { host: 'attic' } }, 'it runs only on attic'],
  [
    'HostJoined',
    { host: 'attic', hostVersion: '1.0.0', address: 'http://attic', labels: ['serial', 'gpu'] },
    'attic, version 1.0.0, with serial and gpu',
  ],
  [
    'HostJoined',
    { host: 'attic', hostVersion: '1.0.0', address: 'http://attic', labels: [] },
    'attic, version 1.0.0',
  ],
  ['HostDrainRequested', { host: 'attic' }, 'attic'],
  ['HostDrainEnded', { host: 'attic' }, 'attic'],
  ['RepositoryRemoved', { name: 'r' }, 'r'],
]

for (const [type, data, detail] of details)
  test(`what came with ${type}: ${detail}`, () => {
    const event = {
      seq: 1,
      id: '',
      at: '',
      plugin: null,
      revision: 0,
      by: 'http' as const,
      state: '',
      host: null,
      epoch: null,
    }
    assert.equal(detailOf({ ...event, type, data }), detail)
  })
