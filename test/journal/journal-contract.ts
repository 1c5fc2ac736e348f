import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { createKeyRing } from '../../src/base/keys/key-ring.ts'
import { Problem } from '../../src/base/problem.ts'
import { fold } from '../../src/journal/fold/evolve.ts'
import type { Journal } from '../../src/journal/journal.ts'
import type { Vault } from '../../src/journal/vault.ts'
import { createSecretVault } from '../../src/lifecycle/secrets/secret-vault.ts'
import type { Fact, JournalEvent, PluginFact } from '../../src/schema/journal/journal-event.ts'
import { anyFact, configured, id, installation, other } from '../helpers/any-fact.ts'
import { everythingOf, plainState, readAll } from '../helpers/journal-stage.ts'

/** What every journal promises, wherever it keeps its events. */

/** Answers how to open one journal, again and again. */
export type JournalStage = (
  context: TestContext,
  options: { vault?: Vault },
) => Promise<() => Promise<Journal>>

export function journalContract(name: string, stage: JournalStage): void {
  async function opened(context: TestContext): Promise<Journal> {
    const journal = await (await stage(context, {}))()
    context.after(() => journal.close())
    return journal
  }

  test(`${name}: what was appended is there after opening again, with the same state`, async (context) => {
    const open = await stage(context, {})
    const journal = await open()
    await journal.append([...installation(id), configured(id, { a: 1 })], 'http', 'key-1')
    await journal.append(
      [{ type: 'HostStarted', plugin: null, data: { host: 'h', hostVersion: '1' } }],
      'startup',
    )
    await journal.append(installation(other), 'mqtt')
    const before = everythingOf(journal, ['key-1', 'key-2'])
    await journal.close()
    const again = await open()
    context.after(() => again.close())
    assert.deepEqual(everythingOf(again, ['key-1', 'key-2']), before)
    assert.equal(again.recallRequest('key-1'), id)
    assert.deepEqual(
      before.all.map(({ seq, plugin, by }) => [seq, plugin, by]),
      [
        [1, id, 'http'],
        [2, id, 'http'],
        [3, id, 'http'],
        [4, null, 'startup'],
        [5, other, 'mqtt'],
        [6, other, 'mqtt'],
      ],
    )
  })

  test(`${name}: a state that somebody has stays as it was; the live one goes on with each event`, async (context) => {
    const journal = await opened(context)
    await journal.append(installation(id), 'http')
    const { live, state } = journal
    const before = plainState(state)
    const said: unknown[] = []
    journal.subscribe(({ seq }) => {
      const { plugins, host } = journal.state
      said.push([seq, live.seq, live.host === host, live.plugins.get(id) === plugins.get(id)])
    })
    await journal.append([configured(id, { a: 1 }), configured(id, { a: 2 })], 'http')
    assert.deepEqual(plainState(state), before)
    assert.equal(live, journal.live)
    assert.deepEqual(live.plugins.get(id)?.context.config, { a: 2 })
    assert.equal(live.plugins.get(other), undefined)
    assert.deepEqual(
      said,
      [3, 4].map((seq) => [seq, seq, true, true]),
    )
  })

  test(`${name}: each of many appends at once gets its own events, and all numbers are given once`, async (context) => {
    const journal = await opened(context)
    const heard: JournalEvent[] = []
    journal.subscribe((event) => void heard.push(event))
    const plugins = Array.from({ length: 50 }, (_, number) => `@fixtures/p${number}`)
    const answers = await Promise.all(plugins.map((plugin) => journal.append(installation(plugin), 'http')))
    assert.deepEqual(
      answers.map((events) => events.map(({ plugin, type }) => [plugin, type])),
      plugins.map((plugin) => [
        [plugin, 'PluginInstallRequested'],
        [plugin, 'PluginInstalled'],
      ]),
    )
    assert.deepEqual(
      heard.map(({ seq }) => seq),
      Array.from({ length: 100 }, (_, index) => index + 1),
    )
    assert.deepEqual(
      answers.flat().sort((left, right) => left.seq - right.seq),
      heard,
    )
    assert.deepEqual(readAll(journal), heard)
  })

  test(`${name}: a fact that the machine refuses is refused alone, and the rest goes through`, async (context) => {
    const journal = await opened(context)
    const results = await Promise.allSettled([
      journal.append(installation(id), 'http'),
      journal.append([{ type: 'PluginLoaded', plugin: other, data: {} }], 'http'),
      journal.append([configured(id, { a: 1 })], 'http'),
    ])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.equal(journal.state.seq, 3)
    assert.ok(results[1]?.status === 'rejected' && results[1].reason instanceof Problem)
    assert.equal(results[1].reason.code, 'invalid_transition')
  })

  test(`${name}: an append with a refused fact in the middle leaves nothing of itself`, async (context) => {
    const journal = await opened(context)
    const loaded: PluginFact = { type: 'PluginLoaded', plugin: id, data: {} }
    await assert.rejects(journal.append([...installation(id), loaded], 'http'), {
      code: 'invalid_transition',
    })
    await assert.rejects(journal.append([...installation(other), loaded], 'http'), {
      code: 'invalid_transition',
    })
    assert.deepEqual([journal.state.seq, journal.state.plugins.size], [0, 0])
  })

  test(`${name}: a fact that cannot be written as JSON is refused alone`, async (context) => {
    const journal = await opened(context)
    const circle: Record<string, unknown> = {}
    circle.self = circle
    await journal.append(installation(id), 'http')
    const results = await Promise.allSettled([
      journal.append([configured(id, circle)], 'http'),
      journal.append([configured(id, { a: 1 })], 'http'),
    ])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'fulfilled'],
    )
    assert.deepEqual(journal.state.plugins.get(id)?.context.config, { a: 1 })
  })

  test(`${name}: there is no state at a number that was not given`, async (context) => {
    const journal = await opened(context)
    await journal.append(installation(id), 'http')
    for (const seq of [-1, 0.5, 3]) assert.throws(() => journal.stateAt(seq), { code: 'not_found' })
    assert.equal(journal.eventId(3), undefined)
    assert.equal(journal.last(other), undefined)
  })

  test(`${name}: a closed journal takes nothing`, async (context) => {
    const journal = await (await stage(context, {}))()
    await journal.close()
    await assert.rejects(journal.append(installation(id), 'http'), { code: 'shutting_down' })
  })

  test(`${name}: law: the fold of the events is the state, at every number, over restarts, encrypted or not`, async (context) => {
    const vault = createSecretVault(createKeyRing([randomBytes(32)]), () => undefined)
    const anyStep = fc.oneof(
      { weight: 6, arbitrary: fc.array(anyFact, { minLength: 1, maxLength: 3 }) },
      { weight: 1, arbitrary: fc.constant('restart' as const) },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyStep, { minLength: 1, maxLength: 25, size: 'max' }),
        fc.boolean(),
        async (steps: (Fact[] | 'restart')[], isSecret) => {
          const open = await stage(context, isSecret ? { vault } : {})
          const states: unknown[] = []
          const start = async () => {
            const journal = await open()
            journal.subscribe(() => void states.push(plainState(journal.state)))
            return journal
          }
          let journal = await start()
          states.push(plainState(journal.state))
          for (const step of steps) {
            if (step === 'restart') {
              await journal.close()
              journal = await start()
            } else {
              await journal
                .append(step, 'http')
                .catch((error: unknown) => assert.ok(error instanceof Problem))
            }
          }
          const events = readAll(journal)
          assert.equal(events.length, journal.state.seq)
          assert.deepEqual(plainState(fold(events)), plainState(journal.state))
          for (const seq of states.keys()) {
            assert.deepEqual(plainState(journal.stateAt(seq)), states[seq], `state at ${seq}`)
          }
          await journal.close()
        },
      ),
      { numRuns: 20 },
    )
  })
}
