import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenConnections } from '../../../src/sandbox/operations/open-connections.ts'
import { defaultLimits } from '../../../src/sandbox/limits.ts'
import type { ConnectionTarget } from '../../../src/schema/connection.ts'

const target: ConnectionTarget = { kind: 'tcp', host: 'there', port: 1, timeout: 1 }

test('a connection is made in the turn of its plugin, and never when it was closed before', async () => {
  const turn: (() => void)[] = []
  const done: string[] = []
  let count = 0
  const connections = createOpenConnections({
    limits: defaultLimits,
    connect: ({ kind }) => {
      count += 1
      const name = String(count)
      const nothing = (): void => undefined
      return {
        ...{ kind, write: nothing, pause: nothing, resume: nothing, destroy: nothing },
        ...{ overlong: nothing, continues: nothing },
        start: () => done.push(`start ${name}`),
        close: () => Promise.resolve(void done.push(`close ${name}`)),
      }
    },
    deliver: () => undefined,
    later: (task) => turn.push(task),
    warn: () => undefined,
  })
  for (const number of [1, 2]) connections.open(number, target)
  connections.close(1)
  assert.deepEqual(done, ['close 1'])
  for (const task of turn.splice(0)) task()
  await connections.finish()
  assert.deepEqual(done, ['close 1', 'start 2', 'close 2'])
})
