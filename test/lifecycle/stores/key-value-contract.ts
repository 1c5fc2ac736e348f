import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { type Clock, systemClock } from '../../../src/base/time/clock.ts'
import { createKeyRing, type KeyRing, SecretKeyError } from '../../../src/base/keys/key-ring.ts'
import type { KeyValueStores } from '../../../src/schema/files/key-value-stores.ts'
import type { KeyValueEntry } from '../../../src/schema/files/key-value-file.ts'

/** What the stores of plugins promise, wherever they keep the values. */

export interface KeyValueStage {
  /** The stores of one place, opened again and again: the last one was closed, or its process has died. */
  open(options?: { ring?: KeyRing; clock?: Clock }): Promise<KeyValueStores>
  /** Damages what is kept of a plugin. */
  damage(plugin: string): Promise<void>
  /** Everything that is kept, as text. */
  content(): Promise<string>
}

export const plugin = '@fixtures/a.b-c'
export const otherPlugin = '@fixtures/other'
export const contractRing = createKeyRing([randomBytes(32)])

const strangeKeys = ['', ' ', '__proto__', 'constructor', 'a.b>*', 'ключ', '💡', 'x'.repeat(2_000), '\u0000']

export function keyValueContract(
  name: string,
  stage: (context: TestContext) => Promise<KeyValueStage>,
): void {
  test(`${name}: what was set is there after opening again, here and in the next process`, async (context) => {
    const { open } = await stage(context)
    const stores = await open()
    assert.deepEqual({ ...(await stores.open(plugin)) }, {})
    const given: [string, KeyValueEntry][] = [
      ['count', { value: 42 }],
      ['session', { value: { token: 'abc', list: [1, null, 'ä'] }, secure: true }],
      ['brief', { value: true, expiresAt: Date.now() + 3_600_000 }],
      ...strangeKeys.map((key, index): [string, KeyValueEntry] => [key, { value: index }]),
    ]
    for (const [key, entry] of given) stores.set(plugin, key, entry)
    stores.set(plugin, 'gone', { value: 1 })
    stores.set(plugin, 'gone', undefined)
    await stores.release(plugin)
    assert.deepEqual(sorted(await stores.open(plugin)), sorted(given))
    await stores.close()
    const next = await open()
    assert.deepEqual(sorted(await next.open(plugin)), sorted(given))
    assert.deepEqual({ ...(await next.open(otherPlugin)) }, {})
    await next.close()
  })

  test(`${name}: ten thousand values of each of three plugins, and a large one, are there again`, async (context) => {
    const { open } = await stage(context)
    const plugins = ['@fixtures/one', '@fixtures/two', '@fixtures/three']
    const stores = await open()
    const large = { value: 'x'.repeat(900_000) }
    for (const id of plugins) {
      await stores.open(id)
      for (let index = 0; index < 10_000; index += 1) stores.set(id, `key-${index}`, { value: { id, index } })
      stores.set(id, 'large', large)
    }
    await Promise.all(plugins.map(stores.release))
    for (const id of plugins) {
      await stores.open(id)
      stores.set(id, 'key-77', { value: 'changed' })
      stores.set(id, 'key-78', undefined)
    }
    await stores.close()
    const next = await open()
    for (const id of plugins) {
      const found = await next.open(id)
      assert.equal(Object.keys(found).length, 10_000)
      assert.deepEqual(
        [found['key-77'], found['key-78'], found['key-9999'], found.large],
        [{ value: 'changed' }, undefined, { value: { id, index: 9_999 } }, large],
      )
    }
    await next.close()
  })

  test(`${name}: what has expired is left out, and is not kept`, async (context) => {
    const { open } = await stage(context)
    let now = 1_000
    const stores = await open({ clock: { ...systemClock, now: () => now } })
    await stores.open(plugin)
    stores.set(plugin, 'brief', { value: 1, expiresAt: 2_000 })
    const long: [string, KeyValueEntry] = ['long', { value: 1, expiresAt: 3_000 }]
    stores.set(plugin, ...long)
    await stores.release(plugin)
    now = 2_000
    assert.deepEqual(sorted(await stores.open(plugin)), [long])
    stores.set(plugin, 'new', { value: 2 })
    await stores.release(plugin)
    now = 1_000
    assert.deepEqual(sorted(await stores.open(plugin)), [long, ['new', { value: 2 }]])
    await stores.close()
  })

  test(`${name}: values are encrypted, and need their key`, async (context) => {
    const { open, content } = await stage(context)
    const stores = await open()
    await stores.open(plugin)
    stores.set(plugin, 'pearl-name', { value: 'pearl-button' })
    await stores.close()
    assert.doesNotMatch(await content(), /pearl/)
    const stranger = await open({ ring: createKeyRing([randomBytes(32)]) })
    await assert.rejects(stranger.open(plugin), SecretKeyError)
    await stranger.close()
    const owner = await open()
    assert.deepEqual(sorted(await owner.open(plugin)), [['pearl-name', { value: 'pearl-button' }]])
    await owner.close()
  })

  test(`${name}: removed values are gone, also those that were still to be written, and can begin anew`, async (context) => {
    const { open, content } = await stage(context)
    const stores = await open()
    for (const id of [plugin, otherPlugin]) {
      await stores.open(id)
      for (let index = 0; index < 3_000; index += 1) stores.set(id, `key-${index}`, { value: index })
      await stores.release(id)
    }
    const kept = await content()
    await stores.open(plugin)
    stores.set(plugin, 'late', { value: 1 })
    await stores.remove(plugin)
    stores.set(plugin, 'later', { value: 1 })
    await stores.release(plugin)
    assert.ok((await content()).length < kept.length * 0.6)
    assert.deepEqual({ ...(await stores.open(plugin)) }, {})
    stores.set(plugin, 'new', { value: 2 })
    await stores.close()
    const next = await open()
    assert.deepEqual(sorted(await next.open(plugin)), [['new', { value: 2 }]])
    assert.equal(Object.keys(await next.open(otherPlugin)).length, 3_000)
    await next.remove('@fixtures/never-there')
    await next.close()
  })

  test(`${name}: damaged values are put aside and told of; the plugin starts with none`, async (context) => {
    const { open, damage } = await stage(context)
    const stores = await open()
    await stores.open(plugin)
    stores.set(plugin, 'a', { value: 1 })
    await stores.close()
    await damage(plugin)
    const next = await open()
    const told: string[] = []
    assert.deepEqual({ ...(await next.open(plugin, (sentence) => void told.push(sentence))) }, {})
    assert.equal(told.length, 1)
    assert.match(
      told[0] ?? '',
      /^The stored values are damaged \(.*\): they were put aside as .*, none is left here\.$/,
    )
    next.set(plugin, 'b', { value: 2 })
    await next.close()
    const last = await open()
    assert.deepEqual(sorted(await last.open(plugin)), [['b', { value: 2 }]])
    await last.close()
  })

  test(`${name}: law: whatever is set, deleted, released and opened again, what is there is what was set last`, async (context) => {
    const anyStep = fc.oneof(
      {
        weight: 8,
        arbitrary: fc.record({ key: fc.integer({ max: 30, min: 0 }), size: fc.constantFrom(0, 5, 4_000) }),
      },
      { weight: 2, arbitrary: fc.constant('release' as const) },
      { weight: 1, arbitrary: fc.constantFrom('restart' as const, 'remove' as const) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 60, size: 'max' }), async (steps) => {
        const { open } = await stage(context)
        const model = new Map<string, KeyValueEntry>()
        let stores = await open()
        await stores.open(plugin)
        for (const step of steps) {
          if (step === 'restart') {
            await stores.close()
            stores = await open()
          } else if (step === 'release') await stores.release(plugin)
          else if (step === 'remove') {
            await stores.remove(plugin)
            model.clear()
          } else {
            const key = `key-${step.key}`
            const entry = step.size === 0 ? undefined : { value: 'v'.repeat(step.size) }
            stores.set(plugin, key, entry)
            if (entry === undefined) model.delete(key)
            else model.set(key, entry)
            continue
          }
          assert.deepEqual(sorted(await stores.open(plugin)), sorted([...model]))
        }
        await stores.close()
      }),
      { numRuns: 20 },
    )
  })
}

export function sorted(entries: Record<string, KeyValueEntry> | [string, KeyValueEntry][]) {
  const list = Array.isArray(entries) ? entries : Object.entries(entries)
  return [...list].sort(([left], [right]) => (left < right ? -1 : 1))
}
