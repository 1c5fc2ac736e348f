import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { systemFileSystem } from '../../src/base/files/file-system.ts'
import { readKeyFile } from '../../src/base/keys/key-file.ts'
import { createKeyRing } from '../../src/base/keys/key-ring.ts'
import type { LogFields, Logger } from '../../src/base/log/log.ts'
import { messageOf } from '../../src/base/problem.ts'
import { createHost, type Host } from '../../src/host/host.ts'
import { StartError } from '../../src/host/start-conditions.ts'
import { handEdits, readSnapshot, refuseDoubtfulEdits } from '../../src/journal/snapshot/snapshot.ts'
import { createSecretVault } from '../../src/lifecycle/secrets/secret-vault.ts'
import type { HostFile } from '../../src/schema/journal/host-file.ts'
import { type FixturePlugin, writeFixtureRepository } from '../helpers/fixture-repository.ts'
import { newKey, signFolder } from '../helpers/signed-repository.ts'
import { hostVersion, startTestHost, type TestHost, testSettings } from '../helpers/test-host.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/**
 * One bit of a data directory flips while the host is stopped. Whatever comes of it is told: refused with the
 * place, in the history as an edit of `.host.json`, put aside, warned of. Or it changes nothing.
 * More of them: `LUPINE_FLIP_RUNS=2000 node scripts/test.mjs test/torture/byte-flips.long.test.ts`.
 */
const runs = Number(process.env.LUPINE_FLIP_RUNS ?? 40)

const plugins: FixturePlugin[] = ['1.0.0', '2.0.0'].map((version) => ({
  id: 'keeper',
  version,
  lua: `-- ${version}
local plugin = Plugin:new("keeper")
plugin:onInit(function(config)
  if plugin:kvGet("count") == nil then
    plugin:kvSet("count", 7)
    plugin:kvSet("words", { "one", "two" })
  end
  local words = plugin:kvGet("words") or {}
  plugin:upsertObject("seen", { city = config.city, count = plugin:kvGet("count"), word = words[2] or "none" })
end)
return plugin`,
  manifest: { config: { city: { type: 'string' }, apiKey: { type: 'string' }, level: { type: 'number' } } },
}))
const other: FixturePlugin = { id: 'other', lua: 'Plugin:new("other")' }

/** What somebody would miss. */
interface Holdings {
  plugins: { id: string; version: string; enabled: boolean; state: string; config: unknown }[]
  repositories: unknown
  seen: unknown
  id: string
}

interface Prepared {
  host: TestHost
  holdings: Holdings
  /** Number of the last event before the damage. */
  seq: number
}

let plain: Prepared
let encrypted: Prepared
let secretKeyFile: string

async function prepare(keyFile: string | undefined): Promise<Prepared> {
  const host = await startTestHost({
    plugins: [...plugins.slice(0, 1), other],
    settings: { secretKeyFile: keyFile },
  })
  const post = async (path: string, body: unknown): Promise<void> => {
    const answer = await host.request('POST', `/api/plugins/${path}`, { body })
    assert.ok(answer.status < 300, JSON.stringify(answer.body))
  }
  const signed = join(host.directory, '..', 'signed')
  const key = newKey()
  await writeFixtureRepository(signed, [], 'signed')
  await signFolder(signed, key)
  const body = { name: 'signed', url: signed, publicKey: key.public.text }
  assert.equal((await host.request('POST', '/api/repositories', { body })).status, 201)
  await post('install', { fullId: '@fixtures/keeper', repository: 'fixtures' })
  await post('install', { fullId: '@fixtures/other', repository: 'fixtures' })
  await post('keeper/config', { config: { city: 'Ulm', apiKey: 'secret', level: 12 } })
  await post('keeper/toggle', { enabled: true })
  await host.publish([...plugins.slice(1), other])
  await post('keeper/update', {})
  const holdings = await holdingsOf(host.host)
  await host.host.close()
  return { host, holdings, seq: host.host.lifecycle.lastSeq }
}

before(async () => {
  plain = await prepare(undefined)
  secretKeyFile = join(plain.host.directory, '..', 'key')
  await writeFile(secretKeyFile, randomBytes(32).toString('hex'), { mode: 0o600 })
  encrypted = await prepare(secretKeyFile)
})
after(async () => {
  await plain.host.close()
  await encrypted.host.close()
})

async function holdingsOf({ lifecycle, id }: Host): Promise<Holdings> {
  return {
    plugins: lifecycle.list().map((plugin) => {
      const { version, enabled, state, config } = plugin
      return { id: plugin.id, version, enabled, state, config }
    }),
    repositories: (await lifecycle.repositories()).map(({ name, url, publicKey, signedAt }) => {
      return { name, url, publicKey, signedAt }
    }),
    seen: lifecycle.list().some((plugin) => plugin.id === '@fixtures/keeper')
      ? lifecycle.objects('@fixtures/keeper')
      : {},
    id,
  }
}

interface Complaint {
  message: string
  fields: LogFields
}

async function startOn(
  directory: string,
  keyFile: string | undefined,
): Promise<{ host: Host; complaints: Complaint[] }> {
  const complaints: Complaint[] = []
  const note = (message: string, fields: LogFields = {}): void => void complaints.push({ message, fields })
  const logger: Logger = { debug: () => undefined, info: () => undefined, warn: note, error: note }
  const host = await createHost({
    settings: testSettings(directory, { secretKeyFile: keyFile }),
    logger,
    programDirectory: join(import.meta.dirname, '..', '..'),
    hostVersion,
    environment: {},
  })
  return { host, complaints }
}

/** Files of the directory that the host wrote, but for the lock. */
async function filesOf(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && entry.name !== '.host.lock')
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort()
}

type Outcome = 'refused' | 'edit' | 'put aside' | 'warned' | 'nothing'

/** Starts a host on a copy in which one file is another, and holds that nothing of it is believed in silence. */
async function outcomeOf(
  context: TestContext,
  { host: source, holdings, seq }: Prepared,
  file: string,
  bytes: Uint8Array,
): Promise<Outcome> {
  const directory = await temporaryDirectory(context)
  await cp(source.directory, directory, { recursive: true })
  await writeFile(join(directory, file), bytes)
  const journal = await readFile(join(directory, '.host.journal'))
  let started: Awaited<ReturnType<typeof startOn>>
  try {
    started = await startOn(directory, source === encrypted.host ? secretKeyFile : undefined)
  } catch (error) {
    assert.ok(error instanceof StartError, String(error))
    assert.ok(error.message.includes(file), `${error.message} does not name ${file}`)
    assert.ok(!/[\n\r]/.test(error.message), 'one line')
    assert.deepEqual(
      Buffer.from(await readFile(join(directory, file))),
      Buffer.from(bytes),
      'nothing is changed',
    )
    assert.deepEqual(await readFile(join(directory, '.host.journal')), journal)
    return 'refused'
  }
  const { host, complaints } = started
  try {
    const now = await holdingsOf(host)
    const edits = host.lifecycle.history({ after: seq }).filter(({ by }) => by === 'file')
    const told = (text: string): boolean => complaints.some(({ message }) => message.includes(text))
    if (edits.length > 0) {
      assert.equal(file, '.host.json')
      const subjects = new Set(edits.map(({ plugin }) => plugin))
      for (const plugin of [...now.plugins, ...holdings.plugins]) {
        const same = (list: Holdings): string =>
          JSON.stringify(list.plugins.find(({ id }) => id === plugin.id))
        if (same(now) !== same(holdings))
          assert.ok(subjects.has(plugin.id), `${plugin.id} changed in silence`)
      }
      return 'edit'
    }
    if (told('key-value store could not be read')) {
      assert.ok((await filesOf(directory)).some((name) => name.startsWith(`${file}.damaged-`)))
      assert.match(
        JSON.stringify(host.lifecycle.logs('@fixtures/keeper', { limit: 100 })),
        /The stored values are damaged/,
      )
      return 'put aside'
    }
    if (file.startsWith('plugins/')) {
      // Files are looked at when they are used.
      const by = { by: 'http' } as const
      if (file.startsWith('plugins/.previous/')) {
        await host.lifecycle.rollback('@fixtures/keeper', undefined, by).catch(() => undefined)
      } else if (file.startsWith('plugins/fixtures--other')) {
        await host.lifecycle.toggle('@fixtures/other', true, by).catch(() => undefined)
      }
      assert.ok(complaints.length > 0, `${file} was believed`)
      return 'warned'
    }
    assert.deepEqual(now, holdings, `${file} was believed`)
    return 'nothing'
  } finally {
    await host.close()
  }
}

for (const kind of ['in plain text', 'encrypted'] as const) {
  test(
    `a flipped bit anywhere in a data directory ${kind} is told, or changes nothing`,
    { timeout: 3_600_000 },
    async (context) => {
      const source = kind === 'encrypted' ? encrypted : plain
      const files = await filesOf(source.host.directory)
      assert.ok(files.includes('.kv/fixtures--keeper.json') && files.length > 6, files.join())
      const outcomes = new Map<string, number>()
      const flip = fc.record({
        file: fc.constantFrom(...files, '.host.json', '.host.json'),
        at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        bit: fc.nat(7),
      })
      await fc.assert(
        fc.asyncProperty(flip, async ({ file, at, bit }) => {
          const bytes = await readFile(join(source.host.directory, file))
          const index = Math.floor(at * bytes.length)
          bytes[index] = (bytes[index] ?? 0) ^ (1 << bit)
          const outcome = await outcomeOf(context, source, file, bytes)
          const name = `${file.startsWith('plugins') ? 'plugins' : file}: ${outcome}`
          outcomes.set(name, (outcomes.get(name) ?? 0) + 1)
        }),
        { numRuns: runs, includeErrorInReport: true },
      )
      context.diagnostic(JSON.stringify(Object.fromEntries([...outcomes].sort())))
    },
  )
}

/** What the host would do with every possible flip of `.host.json`, without starting one for each. */
for (const kind of ['in plain text', 'encrypted'] as const) {
  test(`each bit of .host.json ${kind}: refused with its place, an edit of a value, or nothing`, async () => {
    const { host } = kind === 'encrypted' ? encrypted : plain
    const original = await readFile(join(host.directory, '.host.json'))
    const ring = kind === 'encrypted' ? await readKeyFile(systemFileSystem, secretKeyFile) : createKeyRing([])
    const vault = createSecretVault(ring, () => undefined)
    const read = (bytes: Buffer): Promise<HostFile | undefined> =>
      readSnapshot({ ...systemFileSystem, readFile: (() => Promise.resolve(bytes)) as never }, '', vault)
    const written = await read(original)
    assert.ok(written !== undefined)
    const counts = { refused: 0, edited: 0, nothing: 0 }
    for (let bit = 0; bit < original.length * 8; bit += 1) {
      const bytes = Buffer.from(original)
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const place = bytes.subarray(Math.max(0, (bit >> 3) - 40), (bit >> 3) + 40).toString('utf8')
      let file: HostFile
      try {
        file = (await read(bytes)) ?? {}
        refuseDoubtfulEdits('', written, file)
      } catch (error) {
        assert.match(messageOf(error), /^\.host\.json .+|^Secrets are encrypted/, place)
        counts.refused += 1
        continue
      }
      const edits = handEdits(written, file)
      const kinds = edits.map((edit) => edit.kind)
      assert.ok(!kinds.includes('pluginAdded') && !kinds.includes('pluginRemoved'), place)
      counts[edits.length > 0 ? 'edited' : 'nothing'] += 1
      // Nothing that the host takes from it has changed. Without `journal` all is compared anyhow.
      if (edits.length === 0)
        assert.deepEqual(
          { ...written, ...file, journal: undefined, version: 1 },
          { ...written, ...file, ...known(written), journal: undefined, version: 1 },
          place,
        )
    }
    assert.ok(counts.edited > 50 && counts.refused > 5_000, JSON.stringify(counts))
  })
}

function known({ host, repositories, plugins: section }: HostFile): HostFile {
  return { host, repositories, plugins: section } as HostFile
}

/** Other things that happen to files: cut off, a line twice, a line gone, rubbish. */
const damages: Record<string, (bytes: Buffer, at: number) => Buffer> = {
  'cut off': (bytes, at) => bytes.subarray(0, Math.floor(at * bytes.length)),
  empty: () => Buffer.alloc(0),
  'a line twice': (bytes, at) => {
    const lines = bytes.toString('latin1').split('\n')
    const index = Math.floor(at * lines.length)
    return Buffer.from(lines.toSpliced(index, 0, lines[index] ?? '').join('\n'), 'latin1')
  },
  'a line gone': (bytes, at) => {
    const lines = bytes.toString('latin1').split('\n')
    return Buffer.from(lines.toSpliced(Math.floor(at * lines.length), 1).join('\n'), 'latin1')
  },
  'a block of zeros': (bytes, at) => {
    const start = Math.floor(at * bytes.length)
    return Buffer.from(bytes).fill(0, start, Math.min(start + 512, bytes.length))
  },
  rubbish: (_bytes, at) =>
    Buffer.from(Array.from({ length: 300 }, (_, index) => (index * 7919 * (at + 1)) & 0xff)),
  'another JSON': (_bytes, at) =>
    Buffer.from(
      ['null', '[]', '{"version":1}', '"x"', '1e999', '{"__proto__":{"a":1}}'][Math.floor(at * 6)] ?? '',
    ),
  nested: () => Buffer.from(`${'['.repeat(200_000)}${']'.repeat(200_000)}`),
}

test(
  'a file that is cut off, doubled in places, emptied or replaced is told with its name, or changes nothing',
  { timeout: 3_600_000 },
  async (context) => {
    const files = ['.host.json', '.host.journal', '.kv/fixtures--keeper.json']
    const damage = fc.record({
      file: fc.constantFrom(...files),
      how: fc.constantFrom(...Object.keys(damages)),
      at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    })
    const outcomes = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(damage, async ({ file, how, at }) => {
        const bytes = damages[how]?.(await readFile(join(plain.host.directory, file)), at) ?? Buffer.alloc(0)
        const outcome = await outcomeOf(context, plain, file, bytes)
        outcomes.set(`${file} ${how}: ${outcome}`, (outcomes.get(`${file} ${how}: ${outcome}`) ?? 0) + 1)
      }),
      { numRuns: runs, includeErrorInReport: true },
    )
    context.diagnostic(JSON.stringify(Object.fromEntries([...outcomes].sort())))
  },
)
