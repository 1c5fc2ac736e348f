import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../../../src/base/time/clock.ts'
import { systemFileSystem } from '../../../src/base/files/file-system.ts'
import { addKey, readKeyFile } from '../../../src/base/keys/key-file.ts'
import { createKeyRing, type KeyRing } from '../../../src/base/keys/key-ring.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { openJournal } from '../../../src/journal/journal.ts'
import { readSnapshot } from '../../../src/journal/snapshot/snapshot.ts'
import { decodeStore, storeFiles, storesFolderIn } from '../../../src/lifecycle/stores/key-value-file.ts'
import { createSecretVault } from '../../../src/lifecycle/secrets/secret-vault.ts'
import type { FixturePlugin } from '../../helpers/fixture-repository.ts'
import { programPath } from '../../helpers/host-process.ts'
import { createRandom } from '../../helpers/random.ts'
import { startTestHost } from '../../helpers/test-host.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'

/**
 * Kills `lupine rotate-key` and `lupine decrypt` with SIGKILL at random moments, on a directory that goes from
 * plain text to one key, to the next, and back. `npm run build` first; more kills:
 * `LUPINE_KILL_ROTATIONS=300 node scripts/test.mjs --test-timeout=3600000 test/torture/kills/rotation.long.test.ts`.
 */
const wanted = Number(process.env.LUPINE_KILL_ROTATIONS ?? 9)
const seed = Number(process.env.LUPINE_KILL_SEED ?? Date.now() % 1_000_000)

/** Of one rewriting: then it is left to finish. */
const mostKillsInARow = 4
/** So that the writing itself takes long enough to be met. */
const configurations = 150
const canary = 'canary-of-the-rotation'

const plugins = ['one', 'two', 'three', 'four'].map<FixturePlugin>((id) => ({
  id,
  lua: `
local plugin = Plugin:new("${id}")
plugin:onInit(function() plugin:kvSet("token", "${canary}-${id}" .. string.rep("x", 20000)) end)`,
}))

/** Everything that somebody would miss, in plain text. */
async function holdings(directory: string, ring: KeyRing): Promise<string> {
  const vault = createSecretVault(ring, () => undefined)
  const file = await readSnapshot(systemFileSystem, directory, vault)
  assert.ok(file !== undefined)
  const journal = await openJournal({
    directory,
    files: systemFileSystem,
    clock: systemClock,
    logger: silentLogger,
    acknowledged: file.journal?.seq ?? 0,
    vault,
  })
  const events = journal.read({ limit: Number.MAX_SAFE_INTEGER })
  await journal.close()
  const stores: unknown[] = []
  for (const name of (await storeFiles(systemFileSystem, directory)).sort()) {
    const plugin = `@${name.replace('.json', '').replace('--', '/')}`
    const bytes = await readFile(join(storesFolderIn(directory), name))
    stores.push([plugin, [...decodeStore(plugin, bytes, ring)]])
  }
  return JSON.stringify({ file, events, stores })
}

/** Whether the directory has a secret in plain text, apart from temporary files when these do not count. */
async function hasPlainText(directory: string, withTemporary: boolean): Promise<boolean> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes('plugins'))
  for (const { parentPath, name } of files) {
    if (!withTemporary && name.endsWith('.tmp')) continue
    if ((await readFile(join(parentPath, name), 'utf8')).includes(canary)) return true
  }
  return false
}

test(
  `rotate-key and decrypt that are killed ${wanted} times lose nothing, with the old key or the new, and are done by doing them again (seed ${seed})`,
  { timeout: 24 * 3_600_000 },
  async (context) => {
    const random = createRandom(seed)
    const keyFile = join(await temporaryDirectory(context), 'key')
    const host = await startTestHost({ plugins })
    context.after(() => host.close())
    const { directory } = host
    for (const { id } of plugins) {
      await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${id}` } })
    }
    for (let n = 0; n < configurations; n += 1) {
      const body = { config: { n, apiKey: `${canary}-${n}` } }
      const answer = await host.request('POST', `/api/plugins/${plugins[n % plugins.length]?.id}/config`, {
        body,
      })
      assert.equal(answer.status, 200)
    }
    for (const { id } of plugins) await host.request('POST', `/api/plugins/${id}/toggle`)
    await host.host.close()
    const before = await holdings(directory, createKeyRing([]))

    const counts = { kills: 0, partly: 0, completed: 0 }
    /** How long the command takes in ms, and how long from its first change of a file to its end. */
    const last = { all: 1_000, writing: 100 }

    /** `kill`: when. Answers whether it came to its end. */
    async function run(command: string, kill?: 'at any time' | 'while it writes'): Promise<boolean> {
      const flags = [command, '--data-dir', directory, '--secret-key-file', keyFile]
      const begun = performance.now()
      const child = spawn(process.execPath, [programPath, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] })
      let complaint = ''
      child.stderr.on('data', (chunk) => {
        complaint += chunk
      })
      const exited = once(child, 'close')
      let changed = Number.POSITIVE_INFINITY
      const watchers = [directory, storesFolderIn(directory)].map((folder) => watch(folder))
      const firstChange = Promise.race(watchers.map((watcher) => once(watcher, 'change'))).then(() => {
        changed = Math.min(changed, performance.now())
      })
      if (kill !== undefined) {
        if (kill === 'while it writes') await Promise.race([firstChange, exited])
        const [share, time] = kill === 'while it writes' ? [1, last.writing] : [1.05, last.all]
        await Promise.race([wait(random() * share * time), exited])
        child.kill('SIGKILL')
      }
      const [code] = (await exited) as [number | null]
      for (const watcher of watchers) watcher.close()
      if (code === null) return false
      assert.equal(code, 0, complaint)
      last.all = performance.now() - begun
      last.writing = performance.now() - changed
      return true
    }

    let stage = 0
    while (counts.kills < wanted || stage % 3 !== 0) {
      // Plain text → the first key → another key → plain text.
      const command = ['rotate-key', 'rotate-key', 'decrypt'][stage % 3] ?? ''
      if (command === 'rotate-key') await addKey(systemFileSystem, keyFile)
      stage += 1
      for (let kill = 0; kill < mostKillsInARow; kill += 1) {
        const done = await run(command, random() < 0.3 ? 'at any time' : 'while it writes')
        const ring = await readKeyFile(systemFileSystem, keyFile)
        assert.equal(await holdings(directory, ring), before, `${command}, ${done ? 'done' : 'killed'}`)
        if (stage % 3 === 2) assert.equal(await hasPlainText(directory, true), false)
        if (done) break
        counts.kills += 1
        const names = await readdir(directory)
        if (names.some((name) => name.endsWith('.tmp')) || (await isMixed(directory, ring)))
          counts.partly += 1
      }
      await run(command)
      counts.completed += 1
      const [newest] = (await readFile(keyFile, 'utf8')).split('\n')
      const ring = createKeyRing(command === 'decrypt' ? [] : [Buffer.from(newest ?? '', 'hex')])
      assert.equal(await holdings(directory, ring), before, `${command} to the end`)
      assert.equal(await hasPlainText(directory, true), command === 'decrypt')
      const left = (await readdir(directory, { recursive: true })).filter((name) => name.endsWith('.tmp'))
      assert.deepEqual(left, [], 'temporary files')
    }
    const again = await host.restart()
    context.after(() => again.close())
    const { body } = await again.request('GET', '/api/plugins')
    assert.ok(body.plugins.every(({ state }: { state: string }) => state === 'running'))
    context.diagnostic(JSON.stringify(counts))
    if (wanted >= 50) assert.ok(counts.partly > 0, 'not one of them met the writing')
  },
)

/** Whether some of it needs another key than the rest, so that the rewriting was under way. */
async function isMixed(directory: string, ring: KeyRing): Promise<boolean> {
  const paths = (await storeFiles(systemFileSystem, directory)).map((name) =>
    join(storesFolderIn(directory), name),
  )
  const texts = await Promise.all(
    [...paths, join(directory, '.host.journal')].map((path) => readFile(path, 'utf8')),
  )
  const keys = texts.map((text) => ring.ids.find((id) => text.includes(id)) ?? 'none')
  return new Set(keys).size > 1
}
