import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFixtureRepository } from '../../helpers/fixture-repository.ts'
import { type LaunchedProcess, launchHostProcess } from '../../helpers/host-process.ts'
import { assertSnapshotIsFold } from '../kills/inspect-disk.ts'

/** A place for a data directory that can really be full. */
export interface SmallDisk {
  /** The data directory; it is there and empty. */
  data: string
  /** Somewhere else, with room. */
  elsewhere: string
  /** What a host has to be started with, at this moment. */
  within(): readonly string[]
  /** From now on no byte more fits in, for this host and for those to come. */
  fill(host: LaunchedProcess): Promise<void>
  makeRoom(host?: LaunchedProcess): Promise<void>
  /** What a person is told. */
  words: RegExp
}

interface Told {
  /** The last configuration that was acknowledged. */
  n: number
  refused: number
}

/** Commands that are sent to a full disk; the last page of a file takes the first of them. */
const mostCommands = 100

/**
 * A host on a disk that becomes full: what it cannot write it refuses, in words, and goes on reading; it works
 * again when there is room; and a host that is killed or started there loses nothing.
 */
export async function fillUp(disk: SmallDisk, note: (line: string) => void): Promise<void> {
  const { data } = disk
  const repository = join(disk.elsewhere, 'repository')
  const lua =
    'local plugin = Plugin:new("tally")\nplugin:onInit(function(config) plugin:kvSet("n", config.n or 0) end)'
  await writeFixtureRepository(repository, [
    { id: 'tally', lua },
    { id: 'other', lua: 'Plugin:new("other")' },
  ])
  await writeFile(
    join(data, '.host.json'),
    JSON.stringify({ repositories: [{ name: 'fixtures', url: repository }] }),
  )
  const told: Told = { n: 0, refused: 0 }
  let host = launchHostProcess(data)
  try {
    let base = await baseOf(host)
    await accepted(base, 'install', { fullId: '@fixtures/tally' })
    await accepted(base, 'tally/toggle', { enabled: true })

    await disk.fill(host)
    await configureUntilRefused(base, disk, told)
    const install = await post(base, 'install', { fullId: '@fixtures/other' })
    assert.equal(install.status, 507, JSON.stringify(install.body))
    assert.match(install.body.detail ?? '', disk.words)
    assert.match(host.output(), /"level":"error".*could not be written/)
    await assertReads(base, told)

    await disk.makeRoom(host)
    await configure(base, told)
    await accepted(base, 'tally/reload')
    await accepted(base, 'install', { fullId: '@fixtures/other' })
    assert.equal((await get(base, '/readyz')).status, 200)
    await assertReads(base, told)
    note(`${told.refused} commands were refused`)

    // Killed while it is full, and started while it still is.
    await disk.fill(host)
    await configureUntilRefused(base, disk, told)
    await host.stop('SIGKILL')
    await assertSnapshotIsFold(data)
    const journal = await readFile(join(data, '.host.journal'))
    host = launchHostProcess(data, { within: disk.within() })
    const waits = host.said('waits for room')
    const refusal = await Promise.race([host.ready, waits]).then(
      () => undefined,
      () => host.output(),
    )
    if (refusal === undefined) {
      // All that it has to write may still fit into a last page.
      const { msg, http } = await Promise.race([host.ready, waits])
      note(String(msg))
      if (msg !== 'ready') await assertWaits(String(http), disk, told)
      await assertReads(String(http), told)
      await disk.makeRoom(host)
      await host.ready
      await configure(String(http), told)
    } else {
      note(refusal.trim().split('\n').at(-1) ?? '')
      assert.match(refusal, disk.words)
      assert.doesNotMatch(refusal, /\n {4}at /, 'no stack')
      const after = await readFile(join(data, '.host.journal'))
      assert.ok(after.subarray(0, journal.length).equals(journal), 'what was written is still there')
    }
    await host.stop('SIGKILL')
    await assertSnapshotIsFold(data)

    await disk.makeRoom()
    host = launchHostProcess(data)
    base = await baseOf(host)
    await assertReads(base, told)
    await configure(base, told)
    assert.equal(await host.stop('SIGTERM'), 0)
    await assertSnapshotIsFold(data, true)

    // Stopped in order while it is full: nothing is lost by that either.
    host = launchHostProcess(data)
    base = await baseOf(host)
    await disk.fill(host)
    await configureUntilRefused(base, disk, told)
    const code = await host.stop('SIGTERM')
    assert.ok(code === 0 || code === 1, `exit code ${code}`)
    await assertSnapshotIsFold(data)
    await disk.makeRoom()
    host = launchHostProcess(data)
    await assertReads(await baseOf(host), told)
    assert.equal(await host.stop('SIGTERM'), 0)
  } finally {
    await host.stop('SIGKILL')
  }
}

/** A host that has not started for want of room: it says so, answers questions, and refuses commands. */
async function assertWaits(base: string, { words }: SmallDisk, told: Told): Promise<void> {
  const health = await get(base, '/readyz')
  assert.equal(health.status, 503)
  assert.match(JSON.stringify(health.body), words)
  const refused = await post(base, 'tally/config', { config: { n: told.n + 1 } })
  assert.equal(refused.status, 507)
  assert.match(refused.body.detail ?? '', words)
}

async function baseOf(host: LaunchedProcess): Promise<string> {
  const { http } = await host.ready
  return String(http)
}

interface Answer {
  status: number
  body: { code?: string; detail?: string; state?: string; enabled?: boolean; config?: { n?: number } }
}

async function get(base: string, path: string): Promise<Answer> {
  const answer = await fetch(base + path)
  return { status: answer.status, body: (await answer.json()) as Answer['body'] }
}

async function post(base: string, path: string, body: object = {}): Promise<Answer> {
  const answer = await fetch(`${base}/api/plugins/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: answer.status, body: (await answer.json()) as Answer['body'] }
}

async function accepted(base: string, path: string, body: object = {}): Promise<void> {
  const answer = await post(base, path, body)
  assert.ok(answer.status < 300, `${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
}

async function configure(base: string, told: Told): Promise<void> {
  await accepted(base, 'tally/config', { config: { n: told.n + 1 } })
  told.n += 1
}

/** While it is full. Two refusals in a row: there is no room left, not even in a last page. */
async function configureUntilRefused(base: string, { words }: SmallDisk, told: Told): Promise<void> {
  let inARow = 0
  for (let count = 0; inARow < 2; count += 1) {
    assert.ok(count < mostCommands, 'the disk does not fill up')
    const answer = await post(base, 'tally/config', { config: { n: told.n + 1 } })
    if (answer.status < 300) {
      told.n += 1
      inARow = 0
      continue
    }
    assert.equal(answer.status, 507, JSON.stringify(answer.body))
    assert.equal(answer.body.code, 'storage_full')
    assert.match(answer.body.detail ?? '', words)
    told.refused += 1
    inARow += 1
    // Refused after the configuration was written down, when the reload could not be: it says so.
    const n = (await get(base, '/api/plugins/tally')).body.config?.n ?? 0
    assert.ok(n === told.n || n === told.n + 1, `${n} instead of ${told.n}`)
    told.n = n
  }
}

async function assertReads(base: string, told: Told): Promise<void> {
  const { status, body } = await get(base, '/api/plugins/tally')
  assert.deepEqual([status, body.enabled, body.config?.n ?? 0], [200, true, told.n])
  for (const path of ['/api/plugins', '/api/history?limit=5', '/api/catalog', '/livez']) {
    assert.equal((await get(base, path)).status, 200, path)
  }
}
