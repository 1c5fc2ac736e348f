import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemFileSystem } from '../../src/base/files/file-system.ts'
import { silentLogger } from '../../src/base/log/log.ts'
import { formerNamesLimit, openNamesRegister } from '../../src/host/names-file.ts'
import { encodeLine } from '../../src/journal/lines/journal-line.ts'
import type { PublishedNames } from '../../src/schema/files/names-file.ts'
import { collect, connect } from '../bus/bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from '../bus/mosquitto.ts'
import { failingFileSystem } from '../helpers/failing-file-system.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import {
  elsewhere,
  leaveHome,
  leftUnder,
  first,
  open,
  rememberedIn,
  second,
  startHome,
  third,
  topicsUnder,
  untilRetained,
} from './former-names-stage.ts'

/** The file with the names under which a host has told things. */

const options = { skip: mosquittoMissing }
const named = (root: string): PublishedNames => ({ root, hostId: 'a', prefix: 'ha', broker: 'embedded' })

test('the latest names are remembered once each, as many as there may be, and those of now are none of them', async (context) => {
  const directory = await temporaryDirectory(context)
  const openWith = (root: string) =>
    openNamesRegister({
      ...{ directory, files: systemFileSystem, logger: silentLogger },
      present: named(root),
    })
  for (const root of ['x', 'y', 'x', 'y', 'z']) await openWith(root)
  assert.deepEqual((await rememberedIn(directory))?.former, ['x', 'y'].map(named))
  const many = Array.from({ length: formerNamesLimit + 5 }, (_, index) => `n${index}`)
  for (const root of many) await openWith(root)
  const last = await openWith('x')
  assert.deepEqual(
    last.former.map(({ root }) => root),
    many.slice(-formerNamesLimit),
  )
  await Promise.all(last.former.slice(1).map((names) => last.forget(names)))
  await last.leave(named('n5'))
  assert.deepEqual(await rememberedIn(directory), {
    version: 1,
    present: named('x'),
    former: [{ ...named('n5'), inhabited: true }],
  })
})

test('names are on the disk before the broker hears of them', options, async (context) => {
  const mosquitto = await startMosquitto(context)
  const directory = await leaveHome(context, mosquitto.url)
  const client = await connect(context, mosquitto.url)
  const received = collect(client)
  await client.subscribeAsync('two/#', { qos: 1 })
  const heard: number[] = []
  const files = failingFileSystem((operation, path) => {
    if (operation === 'rename' && path.endsWith('.host.names')) heard.push(received.all.length)
    return false
  })
  await open(context, directory, { ...second, mqttUrl: mosquitto.url }, { files })
  await received.take(1)
  assert.equal(heard[0], 0)
  assert.ok(heard.length > 1, 'and again when the former ones are cleared')
})

for (const [title, breaks] of [
  ['damaged', async (path: string) => writeFile(path, (await readFile(path, 'utf8')).replace('one', 'eno'))],
  ['empty', (path: string) => writeFile(path, '')],
] as const)
  test(`a file of names that is ${title} is a warning, and begun anew`, options, async (context) => {
    const { url: mqttUrl } = await startMosquitto(context)
    const directory = await leaveHome(context, mqttUrl)
    await breaks(join(directory, '.host.names'))
    const { host, warnings } = await open(context, directory, { ...second, mqttUrl })
    assert.match(warnings().join(), /^The file with the names .+ is damaged.+--remove-retained/)
    await host.host.close()
    await open(context, directory, { ...third, mqttUrl })
    await untilRetained(context, mqttUrl, [...leftUnder(first), ...topicsUnder(third), elsewhere])
  })

test(
  'a file of names that cannot be written is a warning; what is known is cleared, and nothing that is remembered is lost',
  options,
  async (context) => {
    const { url: mqttUrl } = await startMosquitto(context)
    const directory = await leaveHome(context, mqttUrl)
    const files = failingFileSystem((operation, path) =>
      operation === 'rename' && path.endsWith('.host.names') ? 'EROFS' : false,
    )
    const { host, warnings } = await open(context, directory, { ...second, mqttUrl }, { files })
    assert.match(warnings()[0] ?? '', /^It could not be written down under which names/)
    await untilRetained(context, mqttUrl, [...topicsUnder(second), elsewhere])
    await host.host.close()
    assert.equal((await rememberedIn(directory))?.present.root, 'one')
  },
)

test('a file of names that cannot be read is a warning, and stays as it is', options, async (context) => {
  const { url: mqttUrl } = await startMosquitto(context)
  const directory = await leaveHome(context, mqttUrl)
  const real = failingFileSystem(() => false)
  const files = {
    ...real,
    readFile: ((path: string, ...rest: []) =>
      path.endsWith('.host.names')
        ? Promise.reject(Object.assign(new Error('EIO: i/o error'), { code: 'EIO' }))
        : real.readFile(path, ...rest)) as typeof real.readFile,
  }
  const { host, warnings } = await open(context, directory, { ...second, mqttUrl }, { files })
  assert.match(warnings()[0] ?? '', /^It cannot be read under which names/)
  await host.host.close()
  await open(context, directory, { ...third, mqttUrl })
  // Of the run that could write nothing down.
  const rest = leftUnder({ ...second, discoveryPrefix: '' })
  await untilRetained(context, mqttUrl, [...rest, ...topicsUnder(third), elsewhere])
})

test('names that found no room on the disk at first are written down later in the start', async (context) => {
  let refused = 0
  const files = failingFileSystem(
    (operation, path) => operation === 'rename' && path.endsWith('.host.names') && refused++ === 0,
  )
  const host = await startHome(context, first, { files })
  assert.equal(refused, 2)
  assert.equal((await rememberedIn(host.directory))?.present.root, 'one')
})

test('a former name that no broker takes keeps nobody from the others', options, async (context) => {
  const { url: mqttUrl } = await startMosquitto(context)
  const directory = await leaveHome(context, mqttUrl)
  const { present } = (await rememberedIn(directory)) ?? {}
  assert.ok(present !== undefined)
  const content = { version: 1, present, former: [{ ...present, root: 'one/#' }] }
  await writeFile(join(directory, '.host.names'), `${encodeLine(content)}\n`)
  const { warnings } = await open(context, directory, { ...second, mqttUrl })
  await untilRetained(context, mqttUrl, [...topicsUnder(second), elsewhere])
  assert.match(warnings().join(), /^What this host told under former names could not be cleared/)
  assert.deepEqual(
    (await rememberedIn(directory))?.former.map(({ root }) => root),
    ['one/#'],
  )
})
