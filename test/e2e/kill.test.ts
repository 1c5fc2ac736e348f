import assert from 'node:assert/strict'
import { readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type FixturePlugin, writeFixtureRepository } from '../helpers/fixture-repository.ts'
import { type HostProcess, startHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/**
 * Kills the host with SIGKILL at random moments of a random sequence of commands, and looks at what is there
 * after the next start. More rounds: `LUPINE_KILL_ROUNDS=200 node scripts/test.mjs test/e2e/kill.test.ts`
 * (`npm run build` first). `LUPINE_KILL_SEED` repeats a run.
 */
const rounds = Number(process.env.LUPINE_KILL_ROUNDS ?? 6)
const seed = Number(process.env.LUPINE_KILL_SEED ?? Date.now() % 1_000_000)

/** Longest time in ms from the first command to the kill: a round has some twenty commands in it. */
const longestRound = 700

const shortIds = ['one', 'two', 'three']
const versions = ['1.0.0', '2.0.0'] as const

/** What callers were told of a plugin, or, with `undefined`, that it is not installed. */
type Known = { enabled: boolean; config: Record<string, unknown>; version: string } | undefined

/** A small generator of pseudo-random numbers (mulberry32), so that a run can be repeated. */
function createRandom(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

function fixture(id: string, version: string): FixturePlugin {
  return {
    id,
    version,
    lua: `-- version ${version}\nlocal p = Plugin:new("${id}")\np:onInit(function() p:setInterval(20, function() p:kvSet("n", 1) end) end)\n`,
    manifest: { docs: [{ title: 'Read me', file: 'README.md' }] },
    files: { 'README.md': `version ${version}` },
  }
}

test(`after kill -9 at ${rounds} random moments every acknowledged command is there and nothing is half done (seed ${seed})`, async (context) => {
  const random = createRandom(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const directory = await temporaryDirectory(context)
  const data = await temporaryDirectory(context)
  // A repository for each plugin, in two versions; which one it offers is a link that changes at once.
  const repositories = await Promise.all(
    shortIds.map(async (id) => {
      for (const version of versions) {
        await writeFixtureRepository(join(directory, id, version), [fixture(id, version)], 'kill')
      }
      await symlink(join(directory, id, versions[0]), join(directory, id, 'current'))
      return { name: id, url: join(directory, id, 'current') }
    }),
  )
  const offered = new Map<string, string>(shortIds.map((id) => [id, versions[0]]))

  async function offer(id: string, version: string): Promise<void> {
    const link = join(directory, id, 'next')
    await symlink(join(directory, id, version), link)
    await rename(link, join(directory, id, 'current'))
    offered.set(id, version)
  }

  await writeFile(join(data, '.host.json'), JSON.stringify({ repositories }))

  /** Acknowledged, and what an unanswered command may have made of it. */
  const known = new Map<string, Known[]>(shortIds.map((id) => [id, [undefined]]))
  let acknowledged = 0
  let host: HostProcess | undefined
  context.after(() => host?.stop('SIGKILL'))

  async function send(base: string, method: string, path: string, body?: unknown): Promise<Response> {
    return fetch(`${base}/api/plugins${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
  }

  /** One random command for a plugin whose state is known; throws when the host is gone. */
  async function command(base: string, id: string): Promise<void> {
    const [before] = known.get(id) ?? []
    const path = `/@kill/${id}`
    let after: Known
    let answer: Promise<Response>
    if (before === undefined) {
      after = { enabled: false, config: {}, version: offered.get(id) ?? '' }
      known.set(id, [before, after])
      answer = send(base, 'POST', '/install', { fullId: `@kill/${id}` })
    } else {
      const choice = random()
      if (choice < 0.4) {
        after = { ...before, enabled: !before.enabled }
        known.set(id, [before, after])
        answer = send(base, 'POST', `${path}/toggle`, { enabled: after.enabled })
      } else if (choice < 0.8) {
        after = { ...before, config: { n: Math.floor(random() * 1e6) } }
        known.set(id, [before, after])
        answer = send(base, 'POST', `${path}/config`, { config: after.config })
      } else if (choice < 0.9) {
        await offer(id, pick(versions))
        after = { ...before, version: offered.get(id) ?? '' }
        known.set(id, [before, after])
        answer = send(base, 'POST', `${path}/update`, {})
      } else {
        after = undefined
        known.set(id, [before, after])
        answer = send(base, 'DELETE', path)
      }
    }
    const response = await answer
    const text = await response.text()
    assert.ok(response.ok, `${response.status} ${text}`)
    known.set(id, [after])
    acknowledged += 1
  }

  for (let round = 0; round < rounds; round += 1) {
    const running = await startHostProcess(data, { flags: ['--log-level', 'info'] })
    host = running
    await verify(running)
    const end = random() * longestRound
    let killed = false
    const timer = setTimeout(() => {
      killed = true
      running.process.kill('SIGKILL')
    }, end)
    const exited = new Promise((resolve) => running.process.once('exit', resolve))
    await Promise.all(
      shortIds.map(async (id) => {
        while (!killed) {
          try {
            await command(running.http, id)
          } catch (error) {
            if (!killed) {
              clearTimeout(timer)
              throw error
            }
          }
        }
      }),
    )
    await exited
  }
  host = await startHostProcess(data)
  await verify(host)
  assert.equal(await host.stop('SIGTERM'), 0)
  context.diagnostic(`${acknowledged} acknowledged commands, ${rounds} kills`)

  async function verify(running: HostProcess): Promise<void> {
    const answer = await fetch(`${running.http}/api/plugins`)
    const { plugins } = (await answer.json()) as {
      plugins: { id: string; enabled: boolean; config: object; version: string; state: string }[]
    }
    const file = JSON.parse(await readFile(join(data, '.host.json'), 'utf8'))
    for (const id of shortIds) {
      const found = plugins.find((plugin) => plugin.id === `@kill/${id}`)
      const state: Known =
        found === undefined
          ? undefined
          : {
              enabled: found.enabled,
              config: found.config as Record<string, unknown>,
              version: found.version,
            }
      const candidates = known.get(id) ?? []
      assert.ok(
        candidates.some((candidate) => JSON.stringify(candidate) === JSON.stringify(state)),
        `${id} is ${JSON.stringify(state)}, expected one of ${JSON.stringify(candidates)}\n${running.output()}`,
      )
      known.set(id, [state])
      const entry = file.plugins.installed.find((installed: { id: string }) => installed.id === `@kill/${id}`)
      assert.deepEqual(entry?.config, state?.config, `.host.json has the config of ${id}`)
      if (found === undefined) continue
      const expected = found.enabled ? ['running'] : ['installed', 'unloaded']
      assert.ok(expected.includes(found.state), `${id} is ${found.state}\n${running.output()}`)
      const folder = join(data, 'plugins', `kill--${id}`)
      const manifest = JSON.parse(await readFile(join(folder, 'plugin.json'), 'utf8'))
      assert.equal(manifest.version, found.version)
      assert.match(await readFile(join(folder, 'init.lua'), 'utf8'), new RegExp(`version ${found.version}`))
      assert.equal(await readFile(join(folder, 'README.md'), 'utf8'), `version ${found.version}`)
    }
    for (const place of ['.staging', '.swap']) {
      assert.deepEqual(await readdir(join(data, 'plugins', place)).catch(() => []), [], place)
    }
  }
})
