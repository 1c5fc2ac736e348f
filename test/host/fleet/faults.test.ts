import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mosquittoMissing } from '../../bus/mosquitto.ts'
import { startStore } from '../../helpers/nats-server.ts'
import { createFaultStage } from './faults/fault-stage.ts'

/** Milliseconds within which others have the plugins of a host that is dead. */
const takeOverLimit = 10_000

test(
  'of three hosts under load one is killed and one drained and stopped: nobody acts twice, and no command is lost',
  {
    skip: mosquittoMissing,
  },
  async (context) => {
    const stage = await createFaultStage(context, [(await startStore(context)).url])
    const [killed, drained] = stage.busiest()
    assert.ok(drained !== undefined)
    assert.ok(stage.pluginsOf(drained).length > 0, 'each host has plugins')

    const lost = stage.pluginsOf(killed)
    const taken = stage.moved(lost)
    await killed.end('SIGKILL')
    const took = await taken
    context.diagnostic(`others had ${lost.length} plugins after ${Math.round(took)} ms`)
    assert.ok(took < takeOverLimit, `${took} ms`)
    // The next process in the same directory.
    await killed.start()

    const given = stage.moved(stage.pluginsOf(drained))
    await killed.request('POST', `/api/hosts/${drained.id}/drain`)
    await given
    assert.deepEqual(stage.pluginsOf(drained), [])
    await drained.end('SIGTERM')
    await stage.allAct()
    await stage.requireAllWell()
  },
)
