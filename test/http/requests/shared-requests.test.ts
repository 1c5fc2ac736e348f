import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Problem } from '../../../src/base/problem.ts'
import { createIdempotency, type RunOnce } from '../../../src/http/requests/idempotency.ts'
import type { KnownRequest, SharedRequests } from '../../../src/http/requests/shared-requests.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

/** Several hosts that ask each other about requests with a key. */

type Serve = Parameters<SharedRequests['serve']>[0]

/** `way`: what each question and answer goes through. */
function hostsNamed(
  names: readonly string[],
  way: (what: string) => Promise<unknown> = async () => undefined,
) {
  const serving = new Map<string, Serve>()
  const gone = new Set<string>()
  const lost: ((error: Error) => void)[] = []
  const hosts = new Map<string, RunOnce<string>>()
  for (const host of names) {
    const requests: SharedRequests = {
      host,
      others: () => names.filter((name) => name !== host),
      async ask(other, request, waits) {
        await way(`${host} asks ${other}`)
        if (gone.has(other)) throw new Error('gone')
        const ended = new Promise<never>((_, reject) => lost.push(reject))
        ended.catch(() => undefined)
        const serve = serving.get(other)
        assert.ok(serve !== undefined)
        const known: KnownRequest = await Promise.race([serve(host, { ...request }, waits), ended])
        await way(`${other} answers ${host}`)
        return JSON.parse(JSON.stringify(known)) as KnownRequest
      },
      serve: (answer) => void serving.set(host, answer),
    }
    hosts.set(host, createIdempotency(createManualClock(), { requests, write: (answer) => answer }))
  }
  return {
    send(host: string, act: () => Promise<string>, body: unknown = {}): Promise<string> {
      const runOnce = hosts.get(host)
      assert.ok(runOnce !== undefined)
      return runOnce({ key: 'key', target: 'POST /api/plugins/a/toggle', body }, act)
    },
    /** It does not answer any more. */
    leave(host: string): void {
      gone.add(host)
      for (const reject of lost.splice(0)) reject(new Error('gone'))
    },
  }
}

test('whoever is asked in which order, one host acts and all give its answer', async () => {
  const names = ['a', 'b', 'c']
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.constantFrom(...names), { minLength: 2, maxLength: 6 }),
      async (scheduler, at) => {
        const { send } = hostsNamed(names, (what) => scheduler.schedule(Promise.resolve(), what))
        const acts: string[] = []
        const answers = at.map(async (host) => {
          await scheduler.schedule(Promise.resolve(), `it comes to ${host}`)
          return send(host, async () => {
            acts.push(host)
            await scheduler.schedule(Promise.resolve(), `${host} is at work`)
            return `by ${host}`
          })
        })
        await scheduler.waitFor(Promise.all(answers))
        assert.equal(acts.length, 1, acts.join())
        assert.deepEqual(new Set(await Promise.all(answers)), new Set([`by ${acts[0]}`]))
      },
    ),
    { numRuns: 300 },
  )
})

test('of different requests with one key one is done, the others are refused, and its repetitions get its answer', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (scheduler) => {
      const { send } = hostsNamed(['a', 'b', 'c'], (what) => scheduler.schedule(Promise.resolve(), what))
      const acts: string[] = []
      const bodies = ['a', 'b', 'c'].map((host) => ({ host, sent: send(host, act(host), { of: host }) }))
      function act(host: string): () => Promise<string> {
        return async () => {
          acts.push(host)
          return host
        }
      }
      const settled = await scheduler.waitFor(Promise.allSettled(bodies.map(({ sent }) => sent)))
      const [done] = acts
      assert.deepEqual(acts, [done])
      for (const [index, outcome] of settled.entries()) {
        const { host } = bodies[index] ?? {}
        if (host === done) assert.equal(outcome.status === 'fulfilled' && outcome.value, done)
        else assert.equal(outcome.status === 'rejected' && outcome.reason.code, 'body_invalid')
      }
      const again = Promise.all(['a', 'b', 'c'].map((host) => send(host, act('again'), { of: done })))
      assert.deepEqual(await scheduler.waitFor(again), [done, done, done])
    }),
    { numRuns: 300 },
  )
})

test('where the host goes away that is at work on it, another one acts; a refusal is told as it was', async () => {
  const { send, leave } = hostsNamed(['a', 'b'])
  let begun = (): void => undefined
  const isAtWork = new Promise<void>((resolve) => (begun = resolve))
  void send('b', () => {
    begun()
    return new Promise<string>(() => undefined)
  })
  await isAtWork
  const refusal = new Problem('config_invalid', 'No.', { errors: [{ path: '/config', message: 'no' }] })
  const waiting = send('a', () => Promise.reject(refusal))
  // It has asked b, and waits for the answer.
  await new Promise((resolve) => setImmediate(resolve))
  leave('b')
  await assert.rejects(waiting, refusal)

  const told = hostsNamed(['a', 'b'])
  await assert.rejects(
    told.send('a', () => Promise.reject(refusal)),
    refusal,
  )
  await assert.rejects(
    told.send('b', async () => 'done'),
    { code: refusal.code, message: refusal.message, errors: refusal.errors },
  )
})
