import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Logger, silentLogger } from '../../../src/base/log/log.ts'
import { fold, initialPlugin, initialState } from '../../../src/journal/fold/evolve.ts'
import type { LifecycleContext } from '../../../src/lifecycle/context.ts'
import { createManifests } from '../../../src/lifecycle/manifests/manifests.ts'
import { mirrorFiles } from '../../../src/lifecycle/sources/mirror.ts'
import type { Integrity } from '../../../src/schema/journal/journal-event.ts'
import { clockPlugin, createStage, hash } from '../../repository/repository-fixture.ts'

const id = clockPlugin.fullId

/** The files of a version, and their hashes, as a fact names them. */
function release(version: string) {
  const texts = {
    'plugin.json': JSON.stringify({ id: 'clock', name: 'Clock', version }),
    'init.lua': `-- ${version}`,
  }
  const integrity = Object.fromEntries(Object.entries(texts).map(([file, text]) => [file, hash(text)]))
  return { version, texts, integrity }
}

test('a kept version of which nobody has the files leaves the others a way back', async (context) => {
  const { plugins } = await createStage(context)
  const [present, gone, old] = [release('1.2.0'), release('1.1.0'), release('1.0.0')]
  const store = new Map(
    [present, old].flatMap(({ texts }) => Object.values(texts).map((text) => [hash(text), text] as const)),
  )
  const sharedFiles = {
    fetch: async (_plugin: string, integrity: Integrity) =>
      new Map(
        Object.entries(integrity).map(([file, name]) => {
          const text = store.get(name)
          if (text === undefined) throw new Error(`${file} is missing`)
          return [file, Buffer.from(text)]
        }),
      ),
  }
  const plugin = initialPlugin(id)
  const kept = [gone, old].map(({ version, integrity }) => ({
    ...{ version, integrity, indexVersion: null, repository: null, config: {} },
    keptAt: '2026-01-01T00:00:00.000Z',
  }))
  const { version, integrity } = present
  const snapshot = { ...plugin, context: { ...plugin.context, version, integrity, kept } }
  const warnings: unknown[] = []
  const lifecycle = {
    journal: { live: { ...fold([], initialState()), plugins: new Map([[id, snapshot]]) } },
    directory: plugins,
    sharedFiles,
    manifests: createManifests(plugins, silentLogger),
    logger: { ...silentLogger, warn: (_text, fields) => warnings.push(fields) } satisfies Logger,
    unverifiedFiles: new Set(),
  } as unknown as LifecycleContext
  await mirrorFiles(lifecycle, id)
  const there = await Promise.all([gone, old].map((one) => plugins.hasKept(clockPlugin, one)))
  assert.deepEqual(there, [false, true])
  assert.equal(lifecycle.manifests.get(id)?.version, '1.2.0')
  assert.deepEqual(warnings, [{ plugin: id, version: '1.1.0', error: new Error('plugin.json is missing') }])
})
