import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { cp, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  expiryWarningInterval,
  expiryWarningTime,
  openTlsFiles,
  tlsReadInterval,
  tlsReadTime,
} from '../../../src/base/keys/tls-files.ts'
import { type TlsIdentity, validityOf } from '../../../src/base/keys/tls-identity.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'

const fixtures = join(import.meta.dirname, '..', '..', 'fixtures', 'tls')
const read = (name: string): string => readFileSync(join(fixtures, name), 'utf8')
const first: TlsIdentity = { certificate: read('certificate.pem'), key: read('key.pem') }
const second: TlsIdentity = { certificate: read('renewed-certificate.pem'), key: read('renewed-key.pem') }
const { until } = validityOf(first)
const month = 30 * 24 * 60 * 60 * 1_000

/** The two files, in use, with everything that was heard of them. */
async function open(context: TestContext, start = until - month, { linked = false, byItself = true } = {}) {
  const directory = await temporaryDirectory(context)
  const live = join(directory, 'live')
  if (linked) {
    for (const name of ['old', 'new']) await cp(fixtures, join(directory, name), { recursive: true })
    await symlink(join(directory, 'old'), live)
  } else {
    await cp(fixtures, live, { recursive: true })
  }
  const certificateFile = join(live, 'certificate.pem')
  const keyFile = join(live, 'key.pem')
  const clock = createManualClock(start)
  const logger = createRecordingLogger()
  const files = await openTlsFiles({
    certificateFile,
    keyFile,
    files: { readFile },
    clock: byItself ? clock : { ...clock, schedule: () => ({ cancel: () => undefined }) },
    logger,
  })
  context.after(() => files.close())
  const taken: TlsIdentity[] = []
  files.onRenewed((identity) => taken.push(identity))
  const messages = (): string[] => logger.lines.map(({ level, message }) => `${level}: ${message}`)
  return { directory, certificateFile, keyFile, clock, logger, files, taken, messages }
}

async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text)
  await rename(`${path}.new`, path)
}

const kept = 'error: What the certificate files hold cannot be used; the certificate from before is kept'
const renewed = 'info: A renewed certificate is in use'

test('a renewed pair is taken up, by rename and by a link that points elsewhere, and once', async (context) => {
  const renamed = await open(context)
  await replace(renamed.certificateFile, second.certificate)
  await replace(renamed.keyFile, second.key)
  for (let time = 0; time < 3; time += 1) await renamed.files.reload()
  assert.deepEqual([renamed.taken, renamed.messages()], [[second], [renewed]])
  assert.deepEqual(renamed.files.identity, second)

  const linked = await open(context, until - month, { linked: true })
  const folder = join(linked.directory, 'new')
  await writeFile(join(folder, 'certificate.pem'), second.certificate)
  await writeFile(join(folder, 'key.pem'), second.key)
  await linked.files.reload()
  assert.deepEqual(linked.taken, [])
  await symlink(folder, join(linked.directory, 'next'))
  await rename(join(linked.directory, 'next'), join(linked.directory, 'live'))
  await linked.files.reload()
  assert.deepEqual(linked.taken, [second])
})

test('the files are looked at by themselves, in the interval, until it is closed', async (context) => {
  const { certificateFile, keyFile, clock, files, taken } = await open(context)
  await replace(certificateFile, second.certificate)
  await replace(keyFile, second.key)
  clock.advance(tlsReadInterval - 1)
  assert.deepEqual([taken, files.identity], [[], first])
  const heard = new Promise<TlsIdentity>((resolve) => files.onRenewed(resolve))
  clock.advance(1)
  assert.deepEqual(await heard, second)
  files.close()
  files.close()
  assert.equal(clock.waiting, 0)
})

test('a pair that cannot be used leaves the old one in place, is told once, and can be put right', async (context) => {
  const cases: [string, Partial<TlsIdentity> | 'gone'][] = [
    ['half of the certificate', { certificate: second.certificate.slice(0, 300), key: second.key }],
    ['an empty certificate', { certificate: '', key: second.key }],
    ['half of the key', { certificate: second.certificate, key: second.key.slice(0, 100) }],
    ['an empty key', { certificate: second.certificate, key: '' }],
    ['the key of the other', { certificate: second.certificate, key: first.key }],
    ['something else', { certificate: 'certificate', key: 'key' }],
    ['no file', 'gone'],
  ]
  for (const [name, bad] of cases) {
    const { certificateFile, keyFile, files, taken, messages, logger } = await open(context)
    if (bad === 'gone') await rename(certificateFile, `${certificateFile}.away`)
    else {
      await replace(certificateFile, bad.certificate ?? '')
      await replace(keyFile, bad.key ?? '')
    }
    await files.reload()
    await files.reload()
    assert.deepEqual([taken, files.identity, messages()], [[], first, [kept]], name)
    assert.match(files.status.fault ?? '', /^HOST_TLS_CERT_FILE .*cannot be/, name)
    assert.equal(JSON.stringify(logger.lines).includes(second.key.split('\n')[1] ?? ''), false)
    await replace(certificateFile, second.certificate)
    await replace(keyFile, second.key)
    await files.reload()
    assert.deepEqual([taken, files.status.fault, messages()], [[second], null, [kept, renewed]], name)
  }
})

test('the old files put back are no renewal, and end the fault', async (context) => {
  const { certificateFile, files, taken } = await open(context)
  await replace(certificateFile, second.certificate)
  await files.reload()
  assert.notEqual(files.status.fault, null)
  await replace(certificateFile, first.certificate)
  await files.reload()
  assert.deepEqual([taken, files.status.fault], [[], null])
})

test('files that do not come in time are told, and are read no second time until they have come', async (context) => {
  const clock = createManualClock(until - month)
  const logger = createRecordingLogger()
  let answer: ((text: string) => void) | undefined
  let reads = 0
  const readFile = (path: string): Promise<string> => {
    reads += 1
    if (reads <= 2) return Promise.resolve(path === 'key' ? first.key : first.certificate)
    return new Promise((resolve) => (answer = resolve))
  }
  const files = await openTlsFiles({
    certificateFile: 'certificate',
    keyFile: 'key',
    files: { readFile: readFile as never },
    clock,
    logger,
  })
  context.after(() => files.close())
  const looks = [files.reload(), files.reload()]
  clock.advance(tlsReadTime)
  await Promise.all(looks)
  assert.deepEqual([reads, files.identity], [3, first])
  assert.match(files.status.fault ?? '', /could not be read in time/)
  answer?.(first.certificate)
})

test('a certificate that ends within two weeks is warned of once a day, and one that has ended', async (context) => {
  const { clock, files, messages } = await open(context, until - expiryWarningTime - 1, {
    byItself: false,
  })
  const soon = 'warn: The certificate ends soon: renew it'
  const ended = 'warn: The certificate has ended: renew it'
  const pass = async (milliseconds: number): Promise<string[]> => {
    clock.advance(milliseconds)
    await files.reload()
    return messages()
  }
  assert.deepEqual(messages(), [])
  assert.deepEqual(await pass(1), [soon])
  assert.deepEqual(await pass(expiryWarningInterval - 1), [soon])
  assert.deepEqual(await pass(1), [soon, soon])
  assert.deepEqual((await pass(expiryWarningTime)).at(-1), ended)
  const late = await open(context, until)
  assert.deepEqual(late.messages(), [ended])
  const early = await open(context, validityOf(first).from - 1)
  assert.deepEqual(early.messages(), ['warn: The certificate is not valid yet'])
})

test('that a certificate has ended is told at once, also when it was warned of just before', async (context) => {
  const { clock, files, messages } = await open(context, until - expiryWarningInterval / 2, {
    byItself: false,
  })
  clock.advance(expiryWarningInterval / 2)
  await files.reload()
  assert.deepEqual(messages(), [
    'warn: The certificate ends soon: renew it',
    'warn: The certificate has ended: renew it',
  ])
})

test('of a chain the first end counts', () => {
  const ends = [first, second].map((identity) => validityOf(identity).until)
  const chain = { certificate: second.certificate + first.certificate, key: second.key }
  assert.notEqual(ends[0], ends[1])
  assert.equal(validityOf(chain).until, Math.min(...ends))
})
