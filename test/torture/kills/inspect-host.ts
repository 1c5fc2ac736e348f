import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { sendHttp, type Knowledge, sortedJson } from './caller.ts'
import { versionIn } from './inspect-disk.ts'
import { type Installed, type Kept, type Known, landed, textOf } from './known.ts'
import { brokenVersion, namespace, shortIds } from './world.ts'

/** What has to be so once a host is there again: everything that was acknowledged, and nothing that is half. */

interface Shown {
  shortId: string
  enabled: boolean
  version: string
  state: string
  config: Record<string, unknown>
  limits: { set: Record<string, number> }
  trial: { from: string } | null
}

interface Versions {
  versions: (Kept & { current: boolean; available: boolean })[]
}

async function get<T>(base: string, path: string): Promise<T> {
  const answer = await fetch(base + path)
  assert.equal(answer.status, 200, path)
  return (await answer.json()) as T
}

/** The plugin as the host shows it now; `undefined` when it is not installed. */
async function look(base: string, shown: Shown | undefined): Promise<Known> {
  if (shown === undefined) return undefined
  const { versions } = await get<Versions>(base, `/api/plugins/@${namespace}/${shown.shortId}/versions`)
  const gone = versions.filter(({ available }) => !available).map(({ version }) => version)
  assert.deepEqual(gone, [], `${shown.shortId} has lost the files of versions`)
  return {
    enabled: shown.enabled,
    version: shown.version,
    config: shown.config,
    limits: shown.limits.set,
    trial: shown.trial?.from ?? null,
    kept: versions.filter(({ current }) => !current),
  }
}

function assertState({ state, shortId }: Shown, { enabled, version }: Installed, safe: boolean): void {
  const expected = !enabled
    ? ['installed', 'unloaded']
    : safe
      ? ['unloaded', 'failed']
      : [version === brokenVersion ? 'failed' : 'running']
  assert.ok(expected.includes(state), `${shortId} is ${state}, not ${expected.join(' or ')}`)
}

/** Compares, and from then on knows for certain. */
export async function inspectHost(
  base: string,
  data: string,
  knowledge: Knowledge,
  expected: { safeMode: 'asked' | 'unfinishedStarts' | null },
): Promise<void> {
  const safe = expected.safeMode !== null
  const { safeMode } = await get<{ safeMode: { cause: string } | null }>(base, '/readyz')
  assert.equal(safeMode?.cause ?? null, expected.safeMode)

  const { plugins } = await get<{ plugins: Shown[] }>(base, '/api/plugins')
  for (const id of shortIds) {
    const shown = plugins.find(({ shortId }) => shortId === id)
    const known = await look(base, shown)
    const candidates = (knowledge.plugins.get(id) ?? []).map((one) => (safe ? one : landed(one)))
    const texts = candidates.map(textOf)
    assert.ok(texts.includes(textOf(known)), `${id} is ${textOf(known)}\nexpected ${texts.join('\nor ')}`)
    knowledge.plugins.set(id, [known])
    const folder = join(data, 'plugins', `${namespace}--${id}`)
    if (shown !== undefined && known !== undefined) {
      assertState(shown, known, safe)
      assert.equal(await versionIn(folder), known.version, `files of ${id}`)
    } else if (knowledge.purged.has(id)) {
      await assert.rejects(access(folder), `the files of ${id} were to be removed`)
    }
  }

  const { repositories } = await get<{ repositories: { name: string; url: string; error: string | null }[] }>(
    base,
    '/api/repositories',
  )
  const names: readonly string[] = shortIds
  assert.deepEqual(
    repositories
      .filter(({ name }) => names.includes(name))
      .map(({ name }) => name)
      .sort(),
    [...shortIds].sort(),
  )
  const others = repositories.filter(({ name }) => !names.includes(name))
  const seen = sortedJson(Object.fromEntries(others.map(({ name, url }) => [name, url])))
  assert.ok(knowledge.repositories.includes(seen), `${seen} is not ${knowledge.repositories.join(' or ')}`)
  knowledge.repositories = [seen]
}

/**
 * Sends what was not answered once more, with its key: whether it had been carried out or not, now it has been
 * once. Answers how many there were.
 */
export async function repeatUnanswered(base: string, knowledge: Knowledge): Promise<number> {
  let count = 0
  for (const [id, { command, key, before }] of knowledge.unanswered) {
    await sendHttp(base, command, key)
    count += 1
    const { plugins } = await get<{ plugins: Shown[] }>(base, '/api/plugins')
    const known = await look(
      base,
      plugins.find(({ shortId }) => shortId === id),
    )
    const wanted = landed(command.change(before))
    assert.equal(textOf(known), textOf(wanted), `${command.path} with the same key`)
    knowledge.plugins.set(id, [known])
  }
  knowledge.unanswered.clear()
  return count
}
