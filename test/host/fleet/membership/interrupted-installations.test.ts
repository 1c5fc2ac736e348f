import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '../../../../src/base/log/log.ts'
import { createInterruptedInstallations } from '../../../../src/host/fleet/membership/interrupted-installations.ts'
import { pluginIn } from '../../../../src/journal/fold/evolve.ts'
import type { Journal } from '../../../../src/journal/journal.ts'
import type { Fact } from '../../../../src/schema/journal/journal-event.ts'
import { createFleetStage } from '../../../fleet/fleet-stage.ts'
import { createManualClock } from '../../../helpers/manual-clock.ts'

const stage = createFleetStage()
const begun = (plugin: string): Fact => ({
  type: 'PluginInstallRequested',
  plugin,
  data: { repository: null, version: '1.0.0' },
})

/** The next event of the journal. */
function nextOf(journal: Journal): Promise<string> {
  return new Promise((resolve) => {
    const stop = journal.subscribe(({ type, plugin }) => {
      stop()
      resolve(`${type} ${plugin}`)
    })
  })
}

test('an installation whose host has died is ended, once, when it has taken too long; one that goes on is not', async (context) => {
  const journal = await stage.openHost(context, stage.newFleet())
  const clock = createManualClock()
  const review = createInterruptedInstallations(clock, silentLogger)
  await journal.append([begun('@a/old')], 'http')
  review(journal)
  clock.advance(59_999)
  await journal.append([begun('@a/new')], 'http')
  review(journal)
  clock.advance(1)
  const next = nextOf(journal)
  review(journal)
  review(journal)
  assert.equal(await next, 'PluginInstallFailed @a/old')
  assert.match(pluginIn(journal.state, '@a/old').context.error?.message ?? '', /install it again/)
  review(journal)
  // Whatever else had been written would come before.
  const after = nextOf(journal)
  await journal.append([begun('@a/last')], 'http')
  assert.equal(await after, 'PluginInstallRequested @a/last')
  assert.equal(pluginIn(journal.state, '@a/new').value, 'installing')
})
