import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogFields } from '../../../src/base/log/log.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { defaultLimits } from '../../../src/sandbox/limits.ts'
import { createFrameDispatcher } from '../../../src/sandbox/operations/frame-dispatcher.ts'
import { createHeldResources } from '../../../src/sandbox/operations/held-resources.ts'
import { createKeptBytes } from '../../../src/sandbox/operations/kept-bytes.ts'
import { createFrameReader, createFrameWriter } from '../../../src/schema/worker/message-frames.ts'
import type { FrameKind } from '../../../src/schema/worker/message-frames.ts'

/** What became of frames, in order: what was asked of the host, and what was refused. */
function outcomeOf(frames: [kind: FrameKind, name: string, payload: string][]): unknown[] {
  const seen: unknown[] = []
  const held = createHeldResources({ ...defaultLimits, objects: 2, sensors: 1 })
  held.note({
    kind: 'setExposure',
    id: 'lamp',
    exposure: { component: 'light', type: 'light', name: 'Lamp', features: [], writable: [] },
  })
  const serveFrames = createFrameDispatcher({
    logger: {
      ...silentLogger,
      error: (message: string, { errors, operation }: LogFields = {}) =>
        seen.push([message, errors ?? operation]),
    },
    plugin: '@a/b',
    connections: { write: ({ kind, subscription }) => seen.push([kind, subscription]) },
    services: {
      emit: (name, data) => seen.push(['emit', name, data.value()]),
      publish: (topic) => seen.push(['publish', topic]),
      log: (line) => seen.push(['log', line.value().message]),
      setValue: (kind, id, value) => seen.push([kind, id, value?.value()]),
    },
    held,
    kept: createKeptBytes(1_000),
    cramped: () => seen.push('cramped'),
  })
  const writer = createFrameWriter()
  for (const frame of frames) writer.write(...frame)
  const reader = createFrameReader(writer.take())
  while (reader.left > 0) serveFrames(reader)
  return seen
}

const nonsense = 'A plugin worker asked for nonsense'
const tooMany = 'A plugin worker asked for more than it may have'

test('what a plugin may have is handed on in order, as it came', () => {
  const line = JSON.stringify({ at: 'now', level: 'info', message: 'x' })
  assert.deepEqual(
    outcomeOf([
      ['object', 'a', '{"on":true}'],
      ['event', 'e', '1'],
      ['sensor', 's', ''],
      ['log', '', line],
      ['sensor', 's', '2.5'],
      ['message', 'a/b', 'bytes'],
      ['exposed', 'lamp', '{"state":false}'],
    ]),
    [
      ['object', 'a', { on: true }],
      ['emit', 'e', 1],
      ['sensor', 's', undefined],
      ['log', 'x'],
      ['sensor', 's', 2.5],
      ['publish', 'a/b'],
      ['exposed', 'lamp', { state: false }],
    ],
  )
})

test('more things than it may have, and what is no message at all, are refused, and all else goes on', () => {
  assert.deepEqual(
    outcomeOf([
      ['object', 'a', '1'],
      ['object', 'b', '2'],
      ['object', 'c', '3'],
      ['sensor', 's', '1'],
      ['sensor', 't', '1'],
      ['object', 'a', ''],
      ['event', 'x'.repeat(5_000), '1'],
      ['exposed', 'never exposed', '{}'],
      ['log', '', '{"level":"loud"}'],
      ['object', 'b', '4'],
    ]),
    [
      ['object', 'a', 1],
      ['object', 'b', 2],
      [tooMany, 'object'],
      ['sensor', 's', 1],
      [tooMany, 'sensor'],
      [nonsense, ['an object has no value']],
      [nonsense, ['the name of an event is too long']],
      [
        nonsense,
        [
          { path: '/at', message: 'is required' },
          { path: '/message', message: 'is required' },
          { path: '/level', message: 'must be one of "debug", "info", "warn", "error"' },
        ],
      ],
      ['object', 'b', 4],
    ],
  )
})

test('values for which there is no room are not taken over, and smaller ones are', () => {
  const long = JSON.stringify('x'.repeat(600))
  assert.deepEqual(
    outcomeOf([
      ['object', 'a', long],
      ['sensor', 's', long],
      ['object', 'a', '1'],
      ['sensor', 's', long],
    ]).map((each) => (Array.isArray(each) ? each.slice(0, 2) : each)),
    [['object', 'a'], 'cramped', ['object', 'a'], ['sensor', 's']],
  )
})
