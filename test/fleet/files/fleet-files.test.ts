import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { systemClock } from '../../../src/base/time/clock.ts'
import { collectAfter, createFleetFiles, filesBucketName } from '../../../src/fleet/files/fleet-files.ts'
import { type ObjectBucket, openObjectBucket } from '../../../src/fleet/files/object-bucket.ts'
import { integrityOf } from '../../../src/repository/directories/plugin-directory.ts'
import { defaultRepositoryLimits } from '../../../src/repository/limits.ts'
import { createFleetStage } from '../fleet-stage.ts'

const stage = createFleetStage()
const plugin = '@fixtures/hello'

/** Hosts of one fleet that share its files; their time passes when they are told. */
async function createFleet(context: TestContext) {
  const fleet = stage.newFleet()
  const name = filesBucketName(fleet)
  const time = { passed: 0 }
  const connection = await stage.connection(context)
  const manager = await jetstreamManager(connection)
  return {
    time,
    connection,
    manager,
    stream: `OBJ_${name}`,
    async host(change: (bucket: ObjectBucket) => Partial<ObjectBucket> = () => ({})) {
      const bucket = await openObjectBucket(await stage.connection(context), name)
      const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + time.passed }
      const files = createFleetFiles({
        ...{ bucket: { ...bucket, ...change(bucket) }, clock, limits: defaultRepositoryLimits },
      })
      return { files, bucket }
    },
    state: async () => (await manager.streams.info(`OBJ_${name}`)).state,
    subjects: async (filter: string) => {
      const { state } = await manager.streams.info(`OBJ_${name}`, { subjects_filter: filter })
      return Object.keys(state.subjects ?? {})
    },
  }
}

const contents = new Map<string, Uint8Array>([
  ['plugin.json', Buffer.from('{"id":"hello"}')],
  ['init.lua', Buffer.from('return {}')],
  ['docs/empty.md', new Uint8Array()],
  ['docs/large.md', randomBytes(defaultRepositoryLimits.fileBytes)],
])
const integrity = integrityOf(contents)

async function filled(context: TestContext) {
  const fleet = await createFleet(context)
  const { files, bucket } = await fleet.host()
  await files.put(contents.values())
  return { ...fleet, files, bucket }
}

function hashOf(file: string): string {
  return integrity[file] ?? ''
}

test('what one host has put, another one fetches by what the facts name', async (context) => {
  const { host } = await filled(context)
  const found = await (await host()).files.fetch(plugin, integrity)
  assert.deepEqual(
    [...found].map(([file, bytes]) => [file, Buffer.from(bytes)]),
    Object.keys(integrity).map((file) => [file, Buffer.from(contents.get(file) ?? [])]),
  )
})

test('the same files are there once, also when many hosts put them at the same time', async (context) => {
  const { files, state, host } = await filled(context)
  const before = await state()
  await files.put(contents.values())
  assert.equal((await state()).messages, before.messages)
  const together = await createFleet(context)
  const hosts = await Promise.all([1, 2, 3, 4].map(() => together.host()))
  await Promise.all(hosts.map((one) => one.files.put(contents.values())))
  assert.equal((await together.state()).messages, before.messages)
  await (await together.host()).files.fetch(plugin, integrity)
  assert.ok((await host()).files)
})

test('an object is as other clients of the object store read it', async (context) => {
  const { manager, stream, bucket, subjects } = await filled(context)
  const name = hashOf('docs/large.md')
  const subject = `$O.${stream.slice(4)}.M.${Buffer.from(name).toString('base64url')}`
  const said = (await manager.streams.getMessage(stream, { last_by_subj: subject }))?.json<
    Record<string, unknown>
  >()
  assert.deepEqual(
    { ...said, mtime: undefined, nuid: undefined },
    {
      ...{ name, bucket: stream.slice(4), size: 1_048_576, chunks: 8, deleted: false, mtime: undefined },
      digest: `SHA-256=${Buffer.from(name, 'hex').toString('base64url')}=`,
      nuid: undefined,
    },
  )
  assert.equal((await subjects(`$O.${stream.slice(4)}.C.${String(said?.nuid)}`)).length, 1)
  const found = await bucket.find(name)
  assert.ok(found !== undefined)
  assert.deepEqual(await bucket.chunks(found.object), contents.get('docs/large.md'))
})

const damages: {
  title: string
  says: RegExp
  damage: (fleet: Awaited<ReturnType<typeof filled>>) => Promise<unknown>
}[] = [
  {
    title: 'a file that is not there',
    says: /^The file init\.lua of @fixtures\/hello \(SHA-256 [0-9a-f]{64}\) is missing in the fleet's store\. A host that has it puts it back/,
    async damage({ bucket }) {
      await bucket.forget((await bucket.find(hashOf('init.lua')))?.revision ?? 0)
    },
  },
  {
    title: 'a file whose content is gone',
    says: /^The file init\.lua of .* is damaged in the fleet's store\./,
    async damage({ bucket }) {
      await bucket.purgeChunks((await bucket.find(hashOf('init.lua')))?.object.nuid ?? '')
    },
  },
  {
    title: 'a file with another content',
    says: /^The file init\.lua of .* is damaged in the fleet's store\./,
    async damage({ bucket, connection, stream }) {
      const nuid = (await bucket.find(hashOf('init.lua')))?.object.nuid ?? ''
      await bucket.purgeChunks(nuid)
      await jetstream(connection).publish(`$O.${stream.slice(4)}.C.${nuid}`, 'os.exit()')
    },
  },
  {
    title: 'a file of which nothing sensible is said',
    says: /^The file init\.lua of .* is missing in the fleet's store\./,
    async damage({ connection, stream }) {
      const subject = `$O.${stream.slice(4)}.M.${Buffer.from(hashOf('init.lua')).toString('base64url')}`
      await jetstream(connection).publish(subject, '{"name":7}')
    },
  },
]

for (const { title, says, damage } of damages) {
  test(`${title} is told of by name, and can be put back`, async (context) => {
    const fleet = await filled(context)
    await damage(fleet)
    const { files } = await fleet.host()
    await assert.rejects(files.fetch(plugin, integrity), { name: 'StoreRefusedError', message: says })
    await files.put(contents.values())
    assert.equal((await files.fetch(plugin, integrity)).size, contents.size)
  })
}

test('what is more than a plugin may have is not taken in', async (context) => {
  const fleet = await createFleet(context)
  const { files, bucket } = await fleet.host()
  const { fileBytes, pluginFiles } = defaultRepositoryLimits
  const many = Object.fromEntries(
    Array.from({ length: pluginFiles + 1 }, (_, n) => [`f${n}`, 'ab'.repeat(32)]),
  )
  await assert.rejects(files.fetch(plugin, many), { message: /has more than 200 files; leave some out\.$/ })
  const name = 'cd'.repeat(32)
  await bucket.write({ name, nuid: 'x', size: fileBytes + 1, chunks: 9 }, 0)
  await assert.rejects(files.fetch(plugin, { large: name }), { message: /is larger than 1048576 bytes/ })
  const large = Array.from({ length: 11 }, () => randomBytes(fileBytes))
  await files.put(large)
  const all = integrityOf(new Map(large.map((bytes, index) => [`f${index}`, bytes])))
  await assert.rejects(files.fetch(plugin, all), {
    message: /^The files of @fixtures\/hello are larger than 10485760 bytes together/,
  })
})

test('what nobody names any more is collected, and nothing of it is left; what somebody names stays', async (context) => {
  const { files, time, state } = await filled(context)
  const named = new Set(Object.values(integrity))
  const counts: number[] = []
  async function collect(names: ReadonlySet<string>) {
    counts.push(await files.collect(names))
    time.passed += collectAfter
    counts.push(await files.collect(names))
  }
  await collect(named)
  named.delete(hashOf('docs/large.md'))
  await collect(named)
  await files.fetch(plugin, integrityOf(new Map([...contents].filter(([file]) => file !== 'docs/large.md'))))
  await collect(new Set())
  assert.deepEqual(counts, [0, 0, 0, 1, 0, 3])
  assert.equal((await state()).messages, 0)
  await files.put(contents.values())
  assert.equal((await files.fetch(plugin, integrity)).size, contents.size)
})

test('a file that is put again, or named again, before it is collected stays', async (context) => {
  const { files, time } = await filled(context)
  const all = new Set(Object.values(integrity))
  const nobody = new Set<string>()
  await files.collect(nobody)
  time.passed += collectAfter
  await files.put(contents.values())
  assert.equal(await files.collect(nobody), 0)
  time.passed += collectAfter
  await files.collect(all)
  time.passed += collectAfter
  assert.equal(await files.collect(nobody), 0)
  assert.equal((await files.fetch(plugin, integrity)).size, contents.size)
})

/** Pauses before a call; `reached` resolves then, and `goOn` ends it. */
function pauseBefore(method: 'write' | 'purgeChunks' | 'forget', which: number) {
  let calls = 0
  let reach = () => {}
  let goOn = () => {}
  const reached = new Promise<void>((resolve) => (reach = resolve))
  const going = new Promise<void>((resolve) => (goOn = resolve))
  async function pause() {
    calls += 1
    if (calls !== which) return
    reach()
    await going
  }
  return {
    reached,
    goOn: () => goOn(),
    change: (bucket: ObjectBucket): Partial<ObjectBucket> => ({
      [method]: async (...given: [never, never]) => {
        await pause()
        return bucket[method](...given)
      },
    }),
  }
}

for (const method of ['write', 'purgeChunks', 'forget'] as const) {
  test(`a collector that pauses before ${method} takes nothing away that was put meanwhile`, async (context) => {
    const { host, time } = await filled(context)
    const { change, reached, goOn } = pauseBefore(method, 1)
    const { files } = await host(change)
    await files.collect(new Set())
    time.passed += collectAfter
    const collecting = files.collect(new Set())
    await reached
    const other = await host()
    await other.files.put(contents.values())
    goOn()
    await collecting
    assert.equal((await other.files.fetch(plugin, integrity)).size, contents.size)
  })
}

test('who pauses while it puts a file finds out that it was collected meanwhile, and puts it again', async (context) => {
  const { host, time, state } = await createFleet(context)
  const { change, reached, goOn } = pauseBefore('write', 2)
  const { files } = await host(change)
  const bytes = Buffer.from('return 1')
  const putting = files.put([bytes])
  await reached
  const other = await host()
  await other.files.collect(new Set())
  time.passed += collectAfter
  assert.equal(await other.files.collect(new Set()), 1)
  goOn()
  await putting
  assert.equal((await files.fetch(plugin, integrityOf(new Map([['init.lua', bytes]])))).size, 1)
  assert.equal((await state()).messages, 2)
})

test('an object store that forgets by itself is refused', async (context) => {
  const { manager, stream, host } = await filled(context)
  await manager.streams.update(stream, { max_age: 3_600_000_000_000 })
  await assert.rejects(host(), { name: 'StoreRefusedError', message: /throws away by itself/ })
})
