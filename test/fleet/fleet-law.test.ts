import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { mosquittoMissing } from '../bus/mosquitto.ts'
import { createLawStage, takeOverLimit } from './law/law-stage.ts'

/** The law of docs/fleet.md over real processes; fleet-law.long.test.ts has more faults. */

describe('the law', { concurrency: true, skip: mosquittoMissing }, () => {
  test('of three hosts one is cut off and one is killed: the third acts within ten seconds, and nobody twice', async (context) => {
    const stage = await createLawStage(context, { hosts: 3, fence: true })
    const [cut, killed, left] = stage.busiest()
    if (killed === undefined || left === undefined) throw new Error('There are three hosts')
    assert.deepEqual(
      stage.hosts.map((host) => stage.pluginsOf(host).length),
      [2, 2, 2],
    )
    const moving = [...stage.pluginsOf(cut), ...stage.pluginsOf(killed)]
    cut.toBroker.hold()
    cut.toStore.hold()
    await killed.end('SIGKILL')
    const took = await stage.moved(moving)
    context.diagnostic(`took over ${moving.length} plugins in ${Math.round(took)} ms`)
    assert.ok(took < takeOverLimit, `${took} ms`)
    assert.deepEqual(stage.pluginsOf(left).sort(), [...stage.plugins].sort())
    cut.toBroker.pass()
    cut.toStore.pass()
    // The next process in the same directory.
    killed.start()
    await stage.allAct()
    // Some act elsewhere before the process that gives them away has ended.
    const moved = stage.moved(stage.plugins)
    await left.end('SIGTERM')
    await moved
    await stage.allAct()
    assert.deepEqual(stage.breaches, [])
    assert.deepEqual(
      stage.hosts.map(({ output }) => output()),
      ['', '', ''],
    )
  })

  test('without the fence a host that was cut off acts after the next one has begun', async (context) => {
    const stage = await createLawStage(context, { hosts: 2, fence: false })
    const [cut] = stage.busiest()
    const moving = stage.pluginsOf(cut)
    cut.toBroker.hold()
    cut.toStore.hold()
    await stage.moved(moving)
    assert.deepEqual(stage.breaches, [])
    cut.toBroker.pass()
    cut.toStore.pass()
    await stage.allAct()
    assert.match(
      stage.breaches[0] ?? '',
      new RegExp(`^${cut.name} acts as @law/p\\d under epoch 1, after h\\d under 2$`),
    )
  })
})
