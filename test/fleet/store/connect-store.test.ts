import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { connectStore, type StoreAddress } from '../../../src/fleet/store/connect-store.ts'
import { areLoopback, openStoreFault } from '../../../src/fleet/store/store-login.ts'
import { listen } from '../../helpers/listen.ts'
import { connectTo, startStore } from '../../helpers/nats-server.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'
import { startHoldingProxy } from '../holding-proxy.ts'
import { createOperator } from '../nats-credentials.ts'

const tls = join(import.meta.dirname, '..', '..', 'fixtures', 'tls')
const certificate = join(tls, 'certificate.pem')
const secure = `tls { cert_file: ${JSON.stringify(certificate)}, key_file: ${JSON.stringify(join(tls, 'key.pem'))} }`
const login = 'authorization { user: lupine, password: "pass:word" }'

async function fileWith(context: TestContext, content: string): Promise<string> {
  const path = join(await temporaryDirectory(context), 'file')
  await writeFile(path, content)
  return path
}

/** Connects, and asks for something. */
async function use(context: TestContext, address: Omit<StoreAddress, 'name'>): Promise<void> {
  const connection = await connectStore({ ...address, name: 'test' })
  context.after(() => connection.close())
  await (await jetstreamManager(connection)).getAccountInfo()
}

const refused = (message: RegExp) => (error: Error) => {
  assert.equal(error.name, 'StoreRefusedError', String(error))
  assert.match(error.message, message)
  assert.doesNotMatch(error.message, /\n|pass:word|SU[A-Z0-9]{20}/)
  return true
}

test('user and password of a file open the store, and wrong ones do not', async (context) => {
  const server = await startStore(context, { lines: [login] })
  const servers = [server.url]
  await use(context, { servers, passwordFile: await fileWith(context, 'lupine:pass:word\n') })
  const wrong = await fileWith(context, 'lupine:wrong')
  await assert.rejects(
    use(context, { servers, passwordFile: wrong }),
    refused(/ refuses this login; give the user/),
  )
  await assert.rejects(use(context, { servers }), refused(/ refuses this login/))
})

test('credentials of NATS open the store, and those of another operator do not', async (context) => {
  const operator = createOperator()
  const server = await startStore(context, { lines: operator.lines })
  const servers = [server.url]
  await use(context, { servers, credentialsFile: await fileWith(context, operator.credentials) })
  const other = await fileWith(context, createOperator().credentials)
  await assert.rejects(use(context, { servers, credentialsFile: other }), refused(/ refuses this login/))
})

test('a store with TLS is believed when its certificate is signed as HOST_FLEET_CA_FILE says', async (context) => {
  const server = await startStore(context, { lines: [secure] })
  const address = server.url.replace('nats://127.0.0.1', 'tls://localhost')
  await use(context, { servers: [address], caFile: certificate })
  await use(context, { servers: [address.replace('tls:', 'nats:')], caFile: certificate })
  const other = join(tls, 'renewed-certificate.pem')
  for (const caFile of [undefined, other]) {
    await assert.rejects(
      use(context, { servers: [address], caFile }),
      refused(
        /^The certificate of the fleet's store at tls:.* is not believed \(.*\); HOST_FLEET_CA_FILE names/,
      ),
    )
  }
})

test('an address that asks for TLS is refused where the store has none', async (context) => {
  const server = await startStore(context)
  await assert.rejects(
    use(context, { servers: [server.url.replace('nats:', 'tls:')] }),
    refused(/ does not speak TLS; turn it on there, or begin its address with nats:\/\/\.$/),
  )
})

test('an address at which a connection is taken and closed, as at a container without its server, is told as that', async (context) => {
  const server = createServer((socket) => socket.destroy())
  context.after(() => server.close())
  const servers = [`nats://127.0.0.1:${await listen(server)}`]
  await assert.rejects(
    use(context, { servers }),
    /cannot be reached \(the connection was taken and closed\); start it/,
  )
})

test('the store is reached over WebSocket, with and without TLS', async (context) => {
  const plain = await startStore(context, { lines: ['websocket { listen: "127.0.0.1:-1", no_tls: true }'] })
  await use(context, { servers: [plain.webSocketUrl] })
  const withTls = await startStore(context, { lines: [`websocket { listen: "127.0.0.1:-1", ${secure} }`] })
  const address = `wss://localhost:${new URL(withTls.webSocketUrl).port}`
  await use(context, { servers: [address], caFile: certificate })
  await assert.rejects(use(context, { servers: [address] }), refused(/ is not believed /))
})

const badFiles: { title: string; setting: keyof StoreAddress; content: string | undefined; says: RegExp }[] =
  [
    {
      ...{ title: 'a password file that is not there', setting: 'passwordFile', content: undefined },
      says: /^HOST_FLEET_PASSWORD_FILE .* cannot be read \(ENOENT\)\.$/,
    },
    {
      ...{ title: 'a password file without a user', setting: 'passwordFile', content: 'pass-word' },
      says: /^HOST_FLEET_PASSWORD_FILE .* must have one line with user and password: user:password\.$/,
    },
    {
      ...{
        title: 'a credentials file of something else',
        setting: 'credentialsFile',
        content: 'user:pass:word',
      },
      says: /^HOST_FLEET_CREDENTIALS_FILE .* holds no credentials of NATS/,
    },
    {
      ...{ title: 'a file of certificates without one', setting: 'caFile', content: 'pass:word' },
      says: /^HOST_FLEET_CA_FILE .* holds no certificate \(PEM\)\.$/,
    },
  ]

for (const { title, setting, content, says } of badFiles) {
  test(`${title} is refused with one line, and nothing of it is repeated`, async (context) => {
    const path =
      content === undefined
        ? join(await temporaryDirectory(context), 'none')
        : await fileWith(context, content)
    const address = { servers: ['nats://127.0.0.1:1'], [setting]: path }
    await assert.rejects(use(context, address), refused(says))
  })
}

test('a store that lets anybody in is taken on this machine only', () => {
  const near = ['nats://127.0.0.1:4222', 'tls://localhost', 'ws://[::1]:80', 'nats://127.1.2.3']
  const far = ['nats://192.168.1.4:4222', 'wss://nats.example.com', 'nats://0.0.0.0', 'nats://[fd00::1]:4222']
  assert.deepEqual(
    [...near, ...far].map((server) => areLoopback([server])),
    [...near.map(() => true), ...far.map(() => false)],
  )
  assert.equal(openStoreFault(near, {}), undefined)
  assert.match(
    openStoreFault([...near, 'nats://10.0.0.1'], {}) ?? '',
    /lets anybody in\. Only a store on this machine/,
  )
  assert.equal(openStoreFault(far, { auth_required: true }), undefined)
  assert.equal(openStoreFault(far, { tls_verify: true }), undefined)
})

test('a store that lets anybody in is not used at an address that is not of this machine alone, and one with a login is', async (context) => {
  const open = await startStore(context)
  const anywhere = ({ url }: { url: string }): string => url.replace('127.0.0.1', '0.0.0.0')
  await assert.rejects(use(context, { servers: [anywhere(open)] }), refused(/ lets anybody in\. /))
  const closed = await startStore(context, { lines: [login] })
  const passwordFile = await fileWith(context, 'lupine:pass:word')
  await use(context, { servers: [anywhere(closed)], passwordFile })
})

test('a store that refuses the login for a while, as somebody changes it there, is connected again when it takes it', async (context) => {
  const lines = [login]
  const server = await startStore(context, { lines })
  const passwordFile = await fileWith(context, 'lupine:pass:word')
  const connection = await connectStore({ servers: [server.url], name: 'test', passwordFile })
  const seen: string[] = []
  const follow = async (): Promise<void> => {
    for await (const { type } of connection.status()) seen.push(type)
  }
  const followed = follow()
  const attempts = (): number => seen.filter((type) => type === 'reconnecting').length
  try {
    await server.stop()
    lines[0] = 'authorization { user: lupine, password: another }'
    await server.start()
    const before = attempts()
    // The client of NATS by itself gives up after the second refusal.
    await until('four attempts', async () => connection.isClosed() || attempts() >= before + 4)
    lines[0] = login
    await server.stop()
    await server.start()
    await until('the store', async () => connection.isClosed() || seen.includes('reconnect'))
    assert.equal(connection.isClosed(), false)
  } finally {
    await connection.close()
    await followed
  }
})

test('nothing that is said while the store is away reaches it later, and whoever asks is refused at once', async (context) => {
  const server = await startStore(context)
  const proxy = await startHoldingProxy(context, Number(new URL(server.url).port))
  const connection = await connectTo(context, proxy.url)
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: 'T', subjects: ['t.>'] })
  connection.publish('t.before', 'x')
  await connection.flush()
  // The client has begun a new connection, and keeps what it is given for that.
  await proxy.hold()
  connection.publish('t.away', 'x')
  await assert.rejects(connection.request('t.away', 'x', { timeout: 60_000 }), {
    name: 'StoreUnreachableError',
  })
  proxy.release()
  await until('the store', () => connection.request('t.after', 'x').catch(() => undefined))
  const { state } = await manager.streams.info('T', { subjects_filter: '>' })
  assert.deepEqual(Object.keys(state.subjects ?? {}).sort(), ['t.after', 't.before'])
})

test('the store is connected again at once by a host whose clock was set back by a year since', async (context) => {
  const server = await startStore(context)
  const connection = await connectStore({ servers: [server.url], name: 'test' })
  let isBack = false
  const follow = async (): Promise<void> => {
    for await (const { type } of connection.status()) isBack ||= type === 'reconnect'
  }
  const followed = follow()
  const { now } = Date
  context.mock.method(Date, 'now', () => now() - 365 * 24 * 3_600_000)
  await server.stop()
  await server.start()
  try {
    await until('the store', async () => isBack, 20_000)
  } finally {
    await connection.close()
    await followed
  }
})
