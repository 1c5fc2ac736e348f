import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { runCooperatively } from '../../src/base/time/cooperative-steps.ts'
import { indexSteps } from '../../src/repository/index/index-file.ts'
import type { Network } from '../../src/repository/sources/http-get.ts'
import { listen } from '../helpers/listen.ts'
import {
  clockPlugin,
  clockRepository,
  createStage,
  type Handler,
  hash,
  problemOf,
  readTree,
  serve,
  startServer,
} from './repository-fixture.ts'
import { until } from '../helpers/until.ts'

const at = (url: string) => ({ name: 'web', url })

test('a plugin from a web server is fetched, named in full, and put in place', async (context) => {
  const { directory, catalog, plugins } = await createStage(context)
  const manifest = { files: ['init.lua', 'lib/día (1).lua'] }
  const files = { 'clock/lib/día (1).lua': 'return 1' }
  const server = await startServer(context, serve(clockRepository('1.0.0', { manifest, files })))
  const staged = await catalog.stage(at(server.url), clockPlugin)
  await staged.swapIn()
  assert.deepEqual(server.requests.map(({ path }) => path).sort(), [
    '/clock/init.lua',
    '/clock/lib/d%C3%ADa%20(1).lua',
    '/clock/plugin.json',
    '/plugins.json',
  ])
  assert.equal(server.requests[0]?.headers['user-agent'], 'lupine/1.0.0')
  assert.equal((await plugins.read(clockPlugin)).integrity['lib/día (1).lua'], hash('return 1'))
  assert.deepEqual(Object.keys(await readTree(directory)), [
    'plugins/test--clock/init.lua',
    'plugins/test--clock/lib/día (1).lua',
    'plugins/test--clock/plugin.json',
  ])
})

test('what a large repository offers is read and listed in turns, between which others have theirs', async (context) => {
  const { catalog } = await createStage(context)
  const plugins = Array.from({ length: 18_000 }, (_, number) => ({
    ...{ id: `p${number}`, name: 'p', version: '1.0.0', path: '.' },
  }))
  const text = JSON.stringify({ version: 1, name: 'Large', namespace: 'test', plugins })
  // A turn is over after so many looks at the clock, however quick the machine is.
  let looks = 0
  context.mock.method(performance, 'now', () => (looks += 1) / 100)
  let turns = 0
  let next: NodeJS.Immediate | undefined
  const count = (): void => {
    turns = 0
    clearImmediate(next)
    next = setImmediate(function turn() {
      turns += 1
      next = setImmediate(turn)
    })
  }
  context.after(() => clearImmediate(next))
  count()
  await runCooperatively(indexSteps(Buffer.from(text)))
  assert.ok(turns > 1, `${turns} turns while it was read`)

  const server = await startServer(context, serve({ 'plugins.json': text }))
  await catalog.offers([at(server.url)])
  // From here on nobody waits for the server.
  count()
  assert.equal((await catalog.offers([at(server.url)])).length, plugins.length)
  assert.ok(turns > 1, `${turns} turns while it was listed`)
  assert.equal(server.requests.length, 1)
})

test('the base address may lack its last slash, name the index, or carry a query', async (context) => {
  const { catalog } = await createStage(context)
  const tree = Object.fromEntries(
    Object.entries(clockRepository()).map(([path, text]) => [`deep/${path}`, text]),
  )
  const server = await startServer(context, (request, response) => {
    request.url = request.url?.replace('?key=1', '') ?? ''
    serve(tree)(request, response)
  })
  for (const end of ['deep', 'deep/', 'deep/plugins.json', 'deep/?key=1']) {
    await (await catalog.stage(at(server.url + end), clockPlugin)).discard()
  }
  assert.equal(server.requests.at(-1)?.path.endsWith('?key=1'), true)
})

test('credentials in an address go into a header and into no message', async (context) => {
  const { catalog } = await createStage(context)
  const server = await startServer(context, (request, response) => {
    if (request.headers.authorization !== `Basic ${Buffer.from('me:s3cret!').toString('base64')}`) {
      response.statusCode = 401
      response.end()
    } else serve(clockRepository())(request, response)
  })
  const withCredentials = server.url.replace('//', '//me:s3cret!@')
  assert.equal((await catalog.index(at(withCredentials))).namespace, 'test')
  server.handle = (_, response) => void response.writeHead(500).end()
  const { message } = await problemOf(catalog.stage(at(`${withCredentials}?token=abc`), clockPlugin))
  assert.match(message, /answers 500/)
  assert.doesNotMatch(message, /s3cret|abc/)
  assert.match((await problemOf(catalog.index(at(`${server.url}x/`)))).message, /answers 500/)
})

test('the catalog asks a server once in half a minute, and an installation always asks', async (context) => {
  const { catalog, clock } = await createStage(context)
  const index = clockRepository()['plugins.json'] ?? ''
  const server = await startServer(context, (request, response) => {
    if (!request.url?.endsWith('plugins.json')) return void serve(clockRepository())(request, response)
    if (request.headers['if-none-match'] === '"one"') return void response.writeHead(304).end()
    response.writeHead(200, { etag: '"one"', 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT' }).end(index)
  })
  const repository = at(server.url)
  const asked = (): number => server.requests.filter(({ path }) => path === '/plugins.json').length

  await Promise.all([catalog.offers([repository]), catalog.statuses([repository]), catalog.index(repository)])
  assert.equal(asked(), 1)
  clock.advance(29_999)
  await catalog.offers([repository])
  assert.equal(asked(), 1)
  clock.advance(1)
  assert.equal((await catalog.offers([repository])).length, 1)
  assert.equal(asked(), 2)
  assert.equal(server.requests.at(-1)?.headers['if-none-match'], '"one"')
  assert.equal(server.requests.at(-1)?.headers['if-modified-since'], 'Thu, 01 Jan 2026 00:00:00 GMT')
  await (await catalog.stage(repository, clockPlugin)).discard()
  assert.equal(asked(), 3)
  assert.equal(await catalog.choose([repository], clockPlugin.fullId), repository)
  assert.equal(asked(), 4)
})

test('a server that says nothing is waited for once by the catalog, which asks it in between from then on, and by whoever wants it fresh', async (context) => {
  const { catalog, clock } = await createStage(context)
  const server = await startServer(context, () => undefined)
  const repository = at(server.url)
  /** Waits for the request, and then for as long as one waits for an answer. */
  async function inVain(look: Promise<unknown>, requests: number): Promise<unknown> {
    await until('the request', async () => server.requests.length === requests)
    clock.advance(10_000)
    return look.catch((error: unknown) => error)
  }
  const statuses = async () => (await catalog.statuses([repository])).map(({ error }) => error)
  const [error] = (await inVain(statuses(), 1)) as string[]
  assert.match(error ?? '', /did not arrive within 10 s/)
  assert.deepEqual([await catalog.offers([repository]), await statuses()], [[], [error]])
  assert.equal(server.requests.length, 1)
  await inVain(catalog.check(repository), 2)
  for (const requests of [3, 4]) {
    clock.advance(30_000)
    assert.deepEqual([await catalog.offers([repository]), await statuses()], [[], [error]])
    await inVain(catalog.check(repository), requests)
  }
  // It is back.
  server.handle = serve(clockRepository())
  clock.advance(30_000)
  await until('its offer', async () => (await catalog.offers([repository])).length === 1)
  assert.equal(server.requests.length, 5)
  // Nothing is left of its silence.
  clock.advance(30_000)
  assert.equal((await catalog.offers([repository])).length, 1)
  assert.equal(server.requests.length, 6)
})

test('an index that is put back with an older time is read, from a server that knows nothing but times', async (context) => {
  const { catalog } = await createStage(context)
  const published = { tree: clockRepository('2.0.0'), time: Date.UTC(2026, 1, 2) }
  const server = await startServer(context, (request, response) => {
    const known = request.headers['if-modified-since']
    if (known !== undefined && published.time <= Date.parse(known)) return void response.writeHead(304).end()
    response.setHeader('last-modified', new Date(published.time).toUTCString())
    serve(published.tree)(request, response)
  })
  const versionOf = async (): Promise<string> => {
    const { version } = (await catalog.preview(at(server.url), clockPlugin)).manifest
    const [offer] = await catalog.offers([at(server.url)])
    return `${version} ${offer?.version}`
  }
  assert.equal(await versionOf(), '2.0.0 2.0.0')
  Object.assign(published, { tree: clockRepository('1.0.0'), time: Date.UTC(2026, 1, 1) })
  assert.equal(await versionOf(), '1.0.0 1.0.0')
  Object.assign(published, { tree: clockRepository('1.0.1') })
  assert.equal(await versionOf(), '1.0.1 1.0.1')
})

test('a repository that failed is asked again, and one that fails is left out of the offers', async (context) => {
  const { catalog } = await createStage(context)
  const server = await startServer(context, (_, response) => void response.writeHead(503).end())
  const repository = at(server.url)
  assert.deepEqual(await catalog.offers([repository]), [])
  const [status] = await catalog.statuses([repository])
  assert.equal(
    status?.error,
    `The repository "web" (${server.url}) cannot be read: it answers 503 for plugins.json; the server has a fault; try again later.`,
  )
  server.handle = serve(clockRepository())
  assert.equal((await catalog.offers([repository])).length, 1)
})

test('of a repository that is asked too often it is said that it may be asked again', async (context) => {
  const { catalog } = await createStage(context)
  const server = await startServer(context, (_, response) => void response.writeHead(429).end())
  const [status] = await catalog.statuses([at(server.url)])
  assert.match(
    status?.error ?? '',
    /it answers 429 for plugins\.json; it is asked too often; try again later\.$/,
  )
})

/** Answers one path in a bad way, and all others as it should. */
const spoil =
  (path: string, handle: Handler, tree = clockRepository()): Handler =>
  (request, response) =>
    (request.url === path ? handle : serve(tree))(request, response)

const page = '<!doctype html><title>Not what you look for</title>'
const badIndexes: Record<string, { handle: Handler; sentence: RegExp }> = {
  'a missing index': {
    handle: (_, response) => void response.writeHead(404).end(page),
    sentence: /has no plugins\.json \(404\); give the address of the folder/,
  },
  'a fault of the server': {
    handle: (_, response) => void response.writeHead(500).end(),
    sentence: /answers 500.*try again later/,
  },
  'a closed door': {
    handle: (_, response) => void response.writeHead(403).end(),
    sentence: /answers 403.*credentials/,
  },
  'a web page': {
    handle: (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(page),
    sentence: /is a web page, not JSON; check the address/,
  },
  'an empty answer': { handle: (_, response) => void response.end(), sentence: /plugins\.json is empty/ },
  'an answer without content': {
    handle: (_, response) => void response.writeHead(204).end(),
    sentence: /answers 204/,
  },
  'something that is not JSON': {
    handle: (_, response) => void response.end('{"version": 1,\n  oops'),
    sentence: /is not valid JSON \(line 2, column 3\)/,
  },
  'bytes that are no text': {
    handle: (_, response) => void response.end(Buffer.from([0x7b, 0xff, 0xfe])),
    sentence: /is not UTF-8/,
  },
  'NUL bytes': { handle: (_, response) => void response.end('{"version":1}\0'), sentence: /NUL bytes/ },
  'an abyss of brackets': {
    handle: (_, response) => void response.end('['.repeat(100_000) + ']'.repeat(100_000)),
    sentence: /nests deeper than 64 levels/,
  },
  'more than it promised, without an end': {
    handle: (_, response) => {
      const chunk = ' '.repeat(64 * 1024)
      const pump = (): void => {
        while (!response.destroyed && response.write(chunk));
      }
      response.on('drain', pump)
      response.on('error', () => undefined)
      pump()
    },
    sentence: /plugins\.json is larger than 1048576 bytes/,
  },
  'less than it promised': {
    handle: (_, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"version": 1', () => response.destroy())
    },
    sentence: /connection ended too early|cut off/,
  },
  'a connection that is cut off': {
    handle: (_, response) => void response.destroy(),
    sentence: /connection ended too early|cut off/,
  },
  'an answer that was not asked for': {
    handle: (_, response) => void response.writeHead(304).end(),
    sentence: /answers 304/,
  },
  'another protocol': {
    handle: ({ socket }) =>
      void socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n'),
    sentence: /goes over to another protocol/,
  },
  'an encoding that nobody asked for': {
    handle: (_, response) => void response.writeHead(200, { 'content-encoding': 'zstd' }).end('{}'),
    sentence:
      /sends plugins\.json with the Content-Encoding "zstd", which was not asked for; set the server to send/,
  },
  'one encoding in another': {
    handle: (_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip, GZIP' })
      response.end(gzipSync(gzipSync('{}')))
    },
    sentence: /with the Content-Encoding "gzip, gzip", which was not asked for/,
  },
  'a redirect to nowhere': {
    handle: (_, response) => void response.writeHead(302, { location: 'http://' }).end(),
    sentence: /redirects to an address that is none/,
  },
  'a redirect to another kind of address': {
    handle: (_, response) => void response.writeHead(302, { location: 'data:application/json,{}' }).end(),
    sentence: /redirects from http: to data:/,
  },
  'a redirect to a file': {
    handle: (_, response) => void response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    sentence: /redirects from http: to file:/,
  },
  'a redirect with credentials': {
    handle: (_, response) => void response.writeHead(302, { location: 'http://a:b@127.0.0.1/' }).end(),
    sentence: /with credentials/,
  },
  'redirects in a circle': {
    handle: (_, response) => void response.writeHead(302, { location: '/plugins.json' }).end(),
    sentence: /redirects more than 5 times/,
  },
}

for (const [what, { handle, sentence }] of Object.entries(badIndexes)) {
  // One of them was waited for without an end.
  test(
    `for an index, ${what} is told of in one sentence, and nothing is written`,
    { timeout: 20_000 },
    async (context) => {
      const { directory, catalog, clock } = await createStage(context)
      const server = await startServer(context, spoil('/plugins.json', handle))
      const { code, message } = await problemOf(catalog.stage(at(server.url), clockPlugin))
      assert.equal(code, 'repository_unreachable')
      assert.match(message, sentence)
      assert.doesNotMatch(message, /\n/)
      assert.deepEqual(await readTree(directory), {})
      assert.equal(clock.waiting, 0)
    },
  )
}

test('a server that answers with anything but HTTP is told of', async (context) => {
  const { catalog } = await createStage(context)
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.end('SSH-2.0-Server\r\n')
  })
  const port = await listen(server)
  context.after(() => void server.close())
  const { code, message } = await problemOf(catalog.index(at(`http://127.0.0.1:${port}/`)))
  assert.equal(code, 'repository_unreachable')
  assert.match(message, /against the rules of HTTP|ended too early/)
})

test('a server that closes each connection without saying so is asked once more by another one', async (context) => {
  const { catalog } = await createStage(context)
  const used = new WeakSet()
  const server = await startServer(context, (request, response) => {
    if (used.has(request.socket)) return void request.socket.destroy()
    used.add(request.socket)
    serve(clockRepository())(request, response)
  })
  const { manifest } = await catalog.preview(at(server.url), clockPlugin)
  assert.equal(manifest.version, '1.0.0')
})

test('a server that nobody runs is told of', async (context) => {
  const { catalog } = await createStage(context)
  const server = await startServer(context, serve({}))
  const { url } = server
  const closed = createServer()
  const port = await listen(closed)
  closed.close()
  await once(closed, 'close')
  assert.match(
    (await problemOf(catalog.index(at(`http://127.0.0.1:${port}/`)))).message,
    /nothing answers at its address; check that the server runs/,
  )
  assert.match((await problemOf(catalog.index(at(url)))).message, /has no plugins\.json/)
})

/** What hangs, and at which moment. */
const hanging: Record<string, Handler> = {
  'never answers': () => undefined,
  'stops after the headers': (_, response) => void response.writeHead(200).flushHeaders(),
  'stops in the middle': (_, response) => {
    response.writeHead(200, { 'content-length': '1000' })
    response.write('{"version"')
  },
}

for (const [what, handle] of Object.entries(hanging)) {
  for (const path of ['/plugins.json', '/clock/init.lua']) {
    test(`a server that ${what} for ${path} is given up after ten seconds`, async (context) => {
      const { directory, catalog, clock } = await createStage(context)
      let reached = (): void => undefined
      const waiting = new Promise<void>((resolve) => {
        reached = resolve
      })
      const server = await startServer(
        context,
        spoil(path, (request, response) => {
          handle(request, response)
          reached()
        }),
      )
      const outcome = problemOf(catalog.stage(at(server.url), clockPlugin))
      await waiting
      clock.advance(9_999)
      clock.advance(1)
      const { code, message } = await outcome
      assert.equal(code, 'repository_unreachable')
      assert.match(message, /did not arrive within 10 s/)
      assert.deepEqual(await readTree(directory), {})
      assert.equal(clock.waiting, 0)
    })
  }
}

test('a plugin arrives although the host stood still meanwhile, for longer than it waits for an answer or a whole plugin', async (context) => {
  const { catalog, clock } = await createStage(context)
  let pause = 100_000
  const server = await startServer(context, (request, response) => {
    clock.pause(pause)
    clock.advance(0)
    pause = 0
    serve(clockRepository())(request, response)
  })
  await (await catalog.stage(at(server.url), clockPlugin)).discard()
  assert.equal(clock.waiting, 0)
})

test('a plugin that comes file by file, each just in time, is given up after a minute', async (context) => {
  const { directory, catalog, clock } = await createStage(context, { limits: { parallelRequests: 1 } })
  const names = Array.from({ length: 20 }, (_, index) => `${index}.lua`)
  const tree = clockRepository('1.0.0', { manifest: { files: ['init.lua', ...names] } })
  const server = await startServer(context, (request, response) => {
    clock.advance(9_000)
    serve({ ...tree, ...Object.fromEntries(names.map((name) => [`clock/${name}`, ''])) })(request, response)
  })
  const { message } = await problemOf(catalog.stage(at(server.url), clockPlugin))
  assert.match(message, /did not arrive within 60 s/)
  assert.deepEqual(await readTree(directory), {})
})

/** The index of the clock with the sha256 of these files of the repository. */
function vouchedFor(tree: Record<string, string>, files: readonly string[]): Record<string, string> {
  const sha256 = Object.fromEntries(files.map((file) => [file, hash(tree[`clock/${file}`] ?? '')]))
  return { ...tree, ...clockRepository('1.0.0', { entry: { sha256 } }) }
}

test('redirects are followed, to another server without the credentials and with the sha256', async (context) => {
  const { catalog } = await createStage(context)
  const tree = clockRepository()
  const target = await startServer(context, serve(tree))
  const all = vouchedFor(tree, ['plugin.json', 'init.lua'])
  const server = await startServer(context, (request, response) => {
    const path = request.url ?? ''
    if (path === '/again/plugins.json') {
      response.end(all['plugins.json'])
      return
    }
    const location = path.startsWith('/again') ? target.url + path.slice(7) : `/again${path}`
    response.writeHead(302, { location }).end()
  })
  const staged = await catalog.stage(at(server.url.replace('//', '//me:secret@')), clockPlugin)
  assert.equal(staged.manifest.version, '1.0.0')
  assert.deepEqual(
    server.requests.map(({ headers }) => headers.authorization !== undefined),
    server.requests.map(() => true),
  )
  assert.deepEqual(
    target.requests.map(({ path, headers }) => [path, headers.authorization]),
    [
      ['/clock/plugin.json', undefined],
      ['/clock/init.lua', undefined],
    ],
  )
})

for (const file of ['plugins.json', 'clock/plugin.json', 'clock/init.lua']) {
  test(`what another server gives for ${file} is not taken without a sha256`, async (context) => {
    const { directory, catalog } = await createStage(context)
    const tree = clockRepository()
    const other = await startServer(context, serve(tree))
    const vouched = vouchedFor(tree, file === 'clock/init.lua' ? ['plugin.json'] : ['init.lua'])
    const server = await startServer(
      context,
      spoil(
        `/${file}`,
        (_, response) => response.writeHead(302, { location: other.url + file }).end(),
        vouched,
      ),
    )
    const { code, message } = await problemOf(catalog.stage(at(server.url), clockPlugin))
    assert.equal(code, 'repository_unreachable')
    assert.match(message, /redirects .* to another server/)
    assert.match(message, file === 'plugins.json' ? /give the address that it leads to/ : /has no sha256/)
    assert.deepEqual([other.requests, await readTree(directory)], [[], {}])
  })
}

test('a file of another server that is not the one promised is refused', async (context) => {
  const { directory, catalog } = await createStage(context)
  const tree = clockRepository()
  const other = await startServer(context, serve({ 'clock/init.lua': 'something else' }))
  const server = await startServer(
    context,
    spoil(
      '/clock/init.lua',
      (_, response) => response.writeHead(302, { location: `${other.url}clock/init.lua` }).end(),
      vouchedFor(tree, ['init.lua']),
    ),
  )
  assert.equal((await problemOf(catalog.stage(at(server.url), clockPlugin))).code, 'integrity_mismatch')
  assert.deepEqual(await readTree(directory), {})
})

/** 127.0.0.1 stands for the internet, everything else is local; names say where they lead. */
const pretended = (names: Record<string, string>): { network: Network } => ({
  network: {
    lookup: (name, options, callback) => {
      const address = names[name] ?? '127.0.0.2'
      setImmediate(() =>
        options.all === true ? callback(null, [{ address, family: 4 }]) : callback(null, address, 4),
      )
    },
    isPublic: (address) => address === '127.0.0.1',
  },
})

for (const place of ['127.0.0.2', 'printer.example', '[::1]']) {
  test(`a repository on the internet does not lead the host to ${place}`, async (context) => {
    const { directory, catalog } = await createStage(context, pretended({}))
    const victim = await startServer(
      context,
      serve(clockRepository()),
      place === '[::1]' ? '::1' : '127.0.0.2',
    )
    const tree = clockRepository()
    const { port } = new URL(victim.url)
    const server = await startServer(
      context,
      spoil(
        '/clock/init.lua',
        (_, response) =>
          response.writeHead(302, { location: `http://${place}:${port}/clock/init.lua` }).end(),
        vouchedFor(tree, ['plugin.json', 'init.lua']),
      ),
    )
    const { code, message } = await problemOf(catalog.stage(at(server.url), clockPlugin))
    assert.equal(code, 'repository_unreachable')
    assert.match(message, /in a local network or on this machine/)
    assert.deepEqual([victim.requests, await readTree(directory)], [[], {}])
  })
}

test('a name that leads elsewhere once its index was read leads nowhere', async (context) => {
  const names = { 'plugins.example': '127.0.0.1' }
  const { catalog } = await createStage(context, pretended(names))
  const server = await startServer(context, (request, response) => {
    names['plugins.example'] = '127.0.0.2'
    // The next question needs another connection, and so another look at the name.
    response.setHeader('connection', 'close')
    serve(clockRepository())(request, response)
  })
  const { port } = new URL(server.url)
  const { message } = await problemOf(catalog.stage(at(`http://plugins.example:${port}/`), clockPlugin))
  assert.match(message, /leads into a local network or to this machine now/)
  assert.equal(server.requests.length, 1)
})

test('nor does it while the index is read once more', async (context) => {
  const names = { 'plugins.example': '127.0.0.1' }
  const { network } = pretended(names)
  let whenAnswered = (): void => undefined
  const isPublic = (address: string): boolean => {
    setImmediate(whenAnswered)
    return network.isPublic(address)
  }
  const { catalog } = await createStage(context, { network: { ...network, isPublic } })
  const tree = clockRepository()
  const manifest = tree['clock/plugin.json'] ?? ''
  let finish = (): void => undefined
  const server = await startServer(context, (request, response) => {
    response.setHeader('connection', 'close')
    if (request.url === '/clock/plugin.json') {
      // The rest of it waits for the second look at the index, which gets no answer.
      whenAnswered = () => {
        whenAnswered = () => undefined
        void catalog.check(repository).catch(() => undefined)
      }
      finish = () => void response.end(manifest.slice(1))
      response.write(manifest.slice(0, 1))
    } else if (server.requests.length === 1) serve(tree)(request, response)
    else {
      names['plugins.example'] = '127.0.0.2'
      finish()
    }
  })
  const repository = at(`http://plugins.example:${new URL(server.url).port}/`)
  const { message } = await problemOf(catalog.stage(repository, clockPlugin))
  assert.match(message, /leads into a local network or to this machine now/)
})

test('a repository that has moved from the internet into a local network is fetched from there, once its index is', async (context) => {
  const names = { 'plugins.example': '127.0.0.1' }
  const { catalog } = await createStage(context, pretended(names))
  const answer: Handler = (request, response) => {
    response.setHeader('connection', 'close')
    serve(clockRepository())(request, response)
  }
  const server = await startServer(context, answer, '0.0.0.0')
  const repository = at(`http://plugins.example:${new URL(server.url).port}/`)
  await catalog.check(repository)
  names['plugins.example'] = '127.0.0.2'
  const staged = await catalog.stage(repository, clockPlugin)
  assert.equal(staged.manifest.version, '1.0.0')
})

test('a repository in a local network may lead to another server there', async (context) => {
  const { catalog } = await createStage(context, pretended({ 'nas.example': '127.0.0.2' }))
  const tree = clockRepository()
  const other = await startServer(context, serve(tree), '127.0.0.3')
  const server = await startServer(
    context,
    spoil(
      '/clock/init.lua',
      (_, response) => response.writeHead(302, { location: `${other.url}clock/init.lua` }).end(),
      vouchedFor(tree, ['init.lua']),
    ),
    '127.0.0.2',
  )
  const { port } = new URL(server.url)
  const staged = await catalog.stage(at(`http://nas.example:${port}/`), clockPlugin)
  assert.equal(staged.manifest.version, '1.0.0')
  assert.equal(other.requests.length, 1)
})

test('a file as large as it may be is taken, and one that is a byte larger is not', async (context) => {
  const { catalog } = await createStage(context, { limits: { fileBytes: 100 } })
  const withBytes = (count: number): Handler =>
    serve(clockRepository('1.0.0', { files: { 'clock/init.lua': '-'.repeat(count) } }))
  const server = await startServer(context, withBytes(100))
  const staged = await catalog.stage(at(server.url), clockPlugin)
  assert.equal(staged.contents.get('init.lua')?.length, 100)
  server.handle = withBytes(101)
  const { code, message } = await problemOf(catalog.stage(at(server.url), clockPlugin))
  assert.equal(code, 'repository_unreachable')
  assert.match(message, /init\.lua is larger than 100 bytes/)
})

test('a path never leads to another host or out of the base address', async (context) => {
  const { directory, catalog } = await createStage(context)
  const other = await startServer(context, serve(clockRepository()))
  const paths = [
    '//evil.example/clock',
    `${other.url}clock`,
    '/clock',
    '../clock',
    'x/../../clock',
    '%2e%2e/clock',
    '..%2fclock',
    '..\\clock',
    'clock\0',
    'clock/..',
  ]
  for (const path of paths) {
    const tree = clockRepository('1.0.0', { entry: { path } })
    const inDepth = Object.fromEntries(Object.entries(tree).map(([name, text]) => [`deep/${name}`, text]))
    const server = await startServer(context, serve({ ...inDepth, ...clockRepository() }))
    const { code, message } = await problemOf(catalog.stage(at(`${server.url}deep/`), clockPlugin))
    assert.equal(code, 'repository_unreachable', path)
    assert.match(message, /\/plugins\/0\/path/)
    assert.deepEqual(
      server.requests.map((request) => request.path),
      ['/deep/plugins.json'],
    )
  }
  assert.deepEqual(other.requests, [])
  assert.deepEqual(await readTree(directory), {})
})

test('what changes between the index and the fetch is caught by the hash', async (context) => {
  const { directory, catalog } = await createStage(context)
  const sha256 = { 'plugin.json': hash(clockRepository()['clock/plugin.json'] ?? '') }
  const index = clockRepository('1.0.0', { entry: { sha256 } })['plugins.json'] ?? ''
  const server = await startServer(context, serve({ ...clockRepository('1.0.1'), 'plugins.json': index }))
  const { code } = await problemOf(catalog.stage(at(server.url), clockPlugin))
  assert.equal(code, 'integrity_mismatch')
  assert.deepEqual(
    server.requests.map(({ path }) => path),
    ['/plugins.json', '/clock/plugin.json'],
  )
  assert.deepEqual(await readTree(directory), {})
})

test('a full disk is told of as such, and what was staged is removed', async (context) => {
  const { failingFileSystem } = await import('../helpers/failing-file-system.ts')
  const files = failingFileSystem((operation, path) => operation === 'open' && path.endsWith('init.lua'))
  const { directory, catalog } = await createStage(context, { files })
  const server = await startServer(context, serve(clockRepository()))
  const { code, message } = await problemOf(catalog.stage(at(server.url), clockPlugin))
  assert.deepEqual(
    [code, message],
    [
      'storage_full',
      'The disk of the data directory is full; free some space, or delete files where df -i shows that no more fit, and try again.',
    ],
  )
  assert.deepEqual(await readTree(directory), {})
})
