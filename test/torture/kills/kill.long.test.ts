import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type LaunchedProcess, launchHostProcess } from '../../helpers/host-process.ts'
import { createRandom, pickFrom } from '../../helpers/random.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { createCaller, createKnowledge, type Knowledge } from './caller.ts'
import {
  assertNoTemporaryFiles,
  assertNothingLeftOver,
  assertSnapshotIsFold,
  assertWholePlugins,
  countOf,
  unfinishedStarts,
} from './inspect-disk.ts'
import { inspectHost, repeatUnanswered } from './inspect-host.ts'
import { connectMqttRequests } from './mqtt-requests.ts'
import { type Plan, planRound } from './plan.ts'
import { createWorld, shortIds, type World } from './world.ts'

/**
 * Kills hosts with SIGKILL at random moments: while they start, while they carry out commands, and while they
 * stop. After each it looks at the files, and after each start at what the host says. `npm run build` first;
 * more rounds: `LUPINE_KILL_ROUNDS=300 node scripts/test.mjs --test-timeout=3600000 test/torture/kills`.
 * `LUPINE_KILL_SEED` repeats the plan of a run; the moments are those of the machine.
 */
const rounds = Number(process.env.LUPINE_KILL_ROUNDS ?? 14)
const seed = Number(process.env.LUPINE_KILL_SEED ?? Date.now() % 1_000_000)

/** A data directory is used for so many rounds: to read a long journal twice a round takes longer than the round. */
const roundsOfDirectory = 40
/** Starts in a row that do not reach ready, after which the next is a safe one (docs/reliability.md). */
const unfinishedStartsLimit = 3

interface Counts {
  running: number
  starting: number
  stopping: number
  terminated: number
  repeated: number
  safeModes: number
}

test(
  `after ${rounds} rounds of kill -9 everything acknowledged is there and nothing is half done (seed ${seed})`,
  { timeout: 24 * 3_600_000 },
  async (context) => {
    const random = createRandom(seed)
    const world = await createWorld(context)
    const counts: Counts = { running: 0, starting: 0, stopping: 0, terminated: 0, repeated: 0, safeModes: 0 }
    let acknowledged = 0
    for (let first = 0; first < rounds; first += roundsOfDirectory) {
      const directory = await useDirectory(context, world, random, counts)
      for (let round = first; round < Math.min(rounds, first + roundsOfDirectory); round += 1) {
        try {
          await directory.round(planRound(round, random), `${seed}-${round}`)
        } catch (error) {
          throw new Error(`In round ${round} of seed ${seed}, ${directory.data}\n${directory.output()}`, {
            cause: error,
          })
        }
      }
      await directory.finish()
      acknowledged += directory.knowledge.acknowledged
    }
    const kills = counts.running + counts.starting + counts.stopping
    context.diagnostic(`${kills} kills, ${acknowledged} acknowledged commands, ${JSON.stringify(counts)}`)
  },
)

async function useDirectory(context: TestContext, world: World, random: () => number, counts: Counts) {
  const data = await temporaryDirectory(context)
  await writeFile(join(data, '.host.json'), JSON.stringify({ repositories: world.repositories }))
  const knowledge: Knowledge = createKnowledge()
  const isolation = ['--isolation', pickFrom(random, ['dedicated', 'shared'])]
  let host: LaunchedProcess | undefined
  /** How long the last start took in ms. */
  let startTime = 1_000
  context.after(() => host?.stop('SIGKILL'))

  async function killedStart(flags: string[]): Promise<void> {
    const launched = launchHostProcess(data, { flags: [...isolation, ...flags] })
    host = launched
    await Promise.race([wait(random() * startTime), once(launched.process, 'exit')])
    assert.equal(launched.process.exitCode, null, launched.output())
    await launched.stop('SIGKILL')
    counts.starting += 1
    await inspectFiles()
  }

  async function inspectFiles(): Promise<void> {
    await assertSnapshotIsFold(data)
    await assertNothingLeftOver(data, false)
    for (const id of shortIds) {
      const count = await countOf(data, id)
      const least = knowledge.counts.get(id) ?? 0
      assert.ok(count >= least, `the store of ${id} went back from ${least} to ${count}`)
    }
  }

  async function start(safe: boolean): Promise<{ http: string; mqtt: string; safe: boolean }> {
    const unfinished = await unfinishedStarts(data)
    const safeMode = safe ? 'asked' : unfinished >= unfinishedStartsLimit ? 'unfinishedStarts' : null
    const begun = performance.now()
    const launched = launchHostProcess(data, { flags: [...isolation, ...(safe ? ['--safe'] : [])] })
    host = launched
    const ready = await launched.ready
    startTime = performance.now() - begun
    await assertSnapshotIsFold(data, true)
    const http = String(ready.http)
    await inspectHost(http, data, knowledge, { safeMode })
    await assertNothingLeftOver(data, true)
    await assertWholePlugins(data)
    if (safeMode !== null) {
      counts.safeModes += 1
      knowledge.unanswered.clear()
    } else counts.repeated += await repeatUnanswered(http, knowledge)
    return { http, mqtt: String(ready.mqtt), safe: safeMode !== null }
  }

  async function end(launched: LaunchedProcess, { ending, pause }: Plan): Promise<void> {
    if (ending === 'kill') {
      counts.running += 1
      await launched.stop('SIGKILL')
      return
    }
    const stopped = launched.stop('SIGTERM')
    if (ending !== 'stop') {
      await Promise.race([wait(pause), stopped])
      if (ending === 'stop twice') launched.process.kill('SIGTERM')
      else launched.process.kill('SIGKILL')
    }
    const code = await stopped
    if (ending === 'stop and kill') counts.stopping += code === null ? 1 : 0
    else counts.terminated += 1
    const codes: Record<string, (number | null)[]> = {
      stop: [0],
      'stop twice': [0, 1],
      'stop and kill': [0, null],
    }
    assert.ok(codes[ending]?.includes(code), `exit code ${code}`)
    if (code !== 0) return
    await assertSnapshotIsFold(data, true)
    await assertNoTemporaryFiles(data)
  }

  return {
    data,
    knowledge,
    output: () => host?.output() ?? '',
    async round(plan: Plan, name: string): Promise<void> {
      for (let count = 0; count < plan.killedStarts; count += 1)
        await killedStart(plan.safe ? ['--safe'] : [])
      const { http, mqtt: url, safe } = await start(plan.safe)
      const launched = host
      assert.ok(launched !== undefined)
      const mqtt = await connectMqttRequests(url)
      const caller = createCaller({ http, mqtt, world, random, knowledge, safe, round: name })
      const running = caller.run()
      // A failure of the commands is told at once, not after the end of the host.
      await Promise.race([wait(plan.duration), running])
      caller.end()
      await Promise.all([end(launched, plan), running])
      mqtt.close()
      await inspectFiles()
    },
    async finish(): Promise<void> {
      await start(false)
      assert.equal(await host?.stop('SIGTERM'), 0)
      await assertSnapshotIsFold(data, true)
      await assertNoTemporaryFiles(data)
    },
  }
}
