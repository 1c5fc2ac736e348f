import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serializeJson } from '../../../src/base/text/serialized-json.ts'
import { initialPlugin } from '../../../src/journal/fold/evolve.ts'
import {
  createPluginPoints,
  loggedSendersLimit,
  senderLogInterval,
} from '../../../src/lifecycle/commands/plugin-points.ts'
import type { LifecycleContext } from '../../../src/lifecycle/context.ts'
import { createExposureRegistry } from '../../../src/lifecycle/running/exposure-registry.ts'
import { createObjectRegistry } from '../../../src/lifecycle/running/object-registry.ts'
import type { Exposure } from '../../../src/schema/plugin/exposure.ts'
import type { Manifest } from '../../../src/schema/manifest/manifest.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

const id = '@a/b'

/** A plugin that runs, with three controls; `looks`: how often a value of one was asked for; `said`: lines of its log. */
function stage() {
  const looks = { count: 0 }
  const said: string[] = []
  const clock = createManualClock()
  const registry = createObjectRegistry()
  for (const control of ['declared', 'exposed', 'neither']) {
    const value = serializeJson(1)
    registry.set(id, 'control', control, {
      ...value,
      value() {
        looks.count += 1
        return value.value()
      },
    })
  }
  const exposures = createExposureRegistry()
  const exposure = { component: 'number', control: 'exposed', name: 'E' } as Partial<Exposure> as Exposure
  exposures.set(id, 'first', { ...exposure, type: 'number' })
  exposures.set(id, 'second', { ...exposure, type: 'string' })
  const fresh = initialPlugin(id)
  const controls = [{ id: 'declared', type: 'boolean' }]
  const context = {
    clock,
    journal: { live: { seq: 1, plugins: new Map([[id, { ...fresh, value: 'running' }]]) } },
    manifests: { get: () => ({ exports: { controls } }) as Manifest },
    effects: {
      setControl: (_plugin: string, _control: string, value: unknown) => Promise.resolve(value),
      logFor: (_plugin: string, _level: string, line: string) => said.push(line),
    },
  } as unknown as LifecycleContext
  const get = (): never => ({}) as never
  return {
    ...{ looks, said, clock },
    points: createPluginPoints(context, { get, requireRunning: () => undefined, registry, exposures }),
  }
}

test('a control is set without a look at the values of all others', async () => {
  const { looks, points } = stage()
  assert.deepEqual(await points.setControl(id, 'neither', 5), { id: 'neither', value: 5 })
  assert.equal(looks.count, 0)
  await assert.rejects(points.setControl(id, 'other', 5), { code: 'control_unknown' })
  await assert.rejects(points.setControl('@a/gone', 'neither', 5), { code: 'plugin_not_installed' })
})

test('who sets a control again and again is told once in ten minutes, and who else sets it at once', async () => {
  const { said, clock, points } = stage()
  const set = (from: string): Promise<unknown> => points.setControl(id, 'neither', 5, from)
  for (const from of ['over HTTP', 'over HTTP', 'over MQTT', 'over HTTP', 'over MQTT']) await set(from)
  const lines = ['over HTTP', 'over MQTT'].map((from) => `The control 'neither' is set to 5 ${from}`)
  assert.deepEqual(said, lines)
  clock.advance(senderLogInterval - 1)
  await set('over MQTT')
  assert.equal(said.length, 2)
  clock.advance(1)
  await set('over MQTT')
  assert.deepEqual(said, [...lines, lines[1]])
})

test('clients that choose another id for each message do not fill the log', async () => {
  const { said, points } = stage()
  for (let turn = 0; turn < loggedSendersLimit + 5; turn += 1)
    await points.setControl(id, 'neither', 5, `over MQTT by client "script-${turn}"`)
  assert.equal(said.length, loggedSendersLimit)
  await points.setControl(id, 'declared', true, 'over HTTP')
  assert.equal(said.at(-1), "The control 'declared' is set to true over HTTP")
})

test('the type of a control is that of its manifest, or of the first exposure that shows it', () => {
  const { points } = stage()
  const expected = { declared: 'boolean', exposed: 'number', neither: undefined }
  for (const [control, type] of Object.entries(expected)) assert.equal(points.controlType(id, control), type)
  assert.deepEqual(Object.fromEntries(points.controls(id).map(({ id, type }) => [id, type])), expected)
})
