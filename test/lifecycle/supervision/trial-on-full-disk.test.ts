import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type FileOperation, failingFileSystem } from '../../helpers/failing-file-system.ts'
import type { FixturePlugin } from '../../helpers/fixture-repository.ts'
import { generousTime } from '../../helpers/generous-time.ts'
import { holdReconciler } from '../../helpers/held-reconciler.ts'
import { startHostFor } from '../../helpers/test-host.ts'

/** The end of an update's trial while the disk is full: the version before returns when there is room, without a command. */

const version = (number: number, body: string): FixturePlugin => ({
  id: 'x',
  version: `${number}.0.0`,
  lua: `local p = Plugin:new("x")\n${body}\n`,
})

const journalWrites: ReadonlySet<FileOperation> = new Set(['write', 'writeFile', 'datasync', 'sync'])
const isJournal = (operation: FileOperation, path: string): boolean =>
  journalWrites.has(operation) && path.endsWith('.host.journal')
const isFolder = (operation: FileOperation, path: string): boolean =>
  operation === 'rename' && path.endsWith('fixtures--x')

/** A host that runs version 1 with a configuration, and a disk that refuses what `disk.refuses` says. */
async function start(context: TestContext) {
  const disk: { refuses: ((operation: FileOperation, path: string) => boolean) | undefined } = {
    refuses: undefined,
  }
  const files = failingFileSystem((operation, path) => disk.refuses?.(operation, path) ?? false)
  const { clock, logger, goOn, says } = holdReconciler()
  const host = await startHostFor(context, {
    ...{ files, clock, logger, limits: generousTime, settings: { isolation: 'dedicated' } },
    plugins: [version(1, '')],
  })
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    host.request('POST', `/api/plugins/${path}`, { body, headers })
  await post('install', { fullId: '@fixtures/x' })
  await post('x/config', { config: { a: 1 } })
  await post('x/toggle', { enabled: true })
  /** From this fact on the disk refuses. */
  const refuseAfter = (type: string, refuses: typeof isJournal): void => {
    const stop = host.host.lifecycle.subscribe((announcement) => {
      if (announcement.kind !== 'lifecycle' || announcement.event.type !== type) return
      stop()
      disk.refuses = refuses
    })
  }
  const isBack = async (): Promise<void> => {
    disk.refuses = undefined
    goOn()
    await says('What had been left undone for a plugin is done')
    const { body } = await host.request('GET', '/api/plugins/x')
    assert.deepEqual(
      [body.version, body.state, body.config, body.trial],
      ['1.0.0', 'running', { a: 1 }, null],
    )
  }
  return { host, disk, post, says, refuseAfter, isBack }
}

test('a crash in a trial that can be written down only later is followed by the return', async (context) => {
  const { host, disk, post, says, isBack } = await start(context)
  const bomb = 'local t = {} while true do t[#t + 1] = {{}, {}} end'
  const body = `p:control("go", function() return 0 end, function() ${bomb} end)`
  await host.publish([version(2, body)])
  assert.equal((await post('x/update', {})).body.trial.from, '1.0.0')
  disk.refuses = isJournal
  void host.request('PUT', '/api/plugins/x/controls/go', { body: { value: 1 } }).catch(() => undefined)
  await says('The crash of a plugin could not be written down')
  await isBack()
})

for (const { refusedAfter, name } of [
  { refusedAfter: 'PluginUpdated', name: 'loaded' },
  { refusedAfter: 'PluginLoadFailed', name: 'taken back' },
]) {
  test(`an update that could not be ${name}, and is asked for again, is answered with what comes of it`, async (context) => {
    const { host, disk, post, refuseAfter } = await start(context)
    await host.publish([version(2, 'p:onInit(function() error("no") end)')])
    refuseAfter(refusedAfter, isJournal)
    assert.equal((await post('x/update', {})).body.code, 'storage_full')
    disk.refuses = undefined
    const { status, body } = await post('x/update', {})
    assert.deepEqual(
      [status, body.version, body.state, body.failedUpdate?.version, body.failedUpdate?.code],
      [200, '1.0.0', 'running', '2.0.0', 'lua_error'],
    )
  })
}

test('an update that could not be loaded, and whose request comes again, is answered when the version before is back', async (context) => {
  const { host, disk, post, refuseAfter } = await start(context)
  await host.publish([version(2, 'p:onInit(function() error("no") end)')])
  refuseAfter('PluginUpdated', isJournal)
  const update = () => post('x/update', {}, { 'idempotency-key': 'once' })
  assert.equal((await update()).body.code, 'storage_full')
  disk.refuses = undefined
  const { status, body } = await update()
  assert.deepEqual([status, body.version, body.state], [200, '1.0.0', 'running'])
})

test('a return that cannot be written down is made up for', async (context) => {
  const { host, post, refuseAfter, isBack } = await start(context)
  await host.publish([version(2, 'p:onInit(function() error("no") end)')])
  refuseAfter('PluginLoadFailed', isJournal)
  assert.equal((await post('x/update', {})).body.code, 'storage_full')
  await isBack()
})

test('a return whose files cannot be put back is made up for', async (context) => {
  const { host, post, refuseAfter, isBack } = await start(context)
  await host.publish([version(2, 'p:onInit(function() error("no") end)')])
  refuseAfter('PluginRolledBack', isFolder)
  assert.equal((await post('x/update', {})).body.code, 'storage_full')
  await isBack()
})
