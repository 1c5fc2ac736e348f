import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode, encode } from 'dns-packet'
import fc from 'fast-check'
import { readAnswer, writeQueries } from '../../../src/outside/discovery/dns-message.ts'
import { readSsdp, writeSearch } from '../../../src/outside/discovery/ssdp-message.ts'
import { readTexts } from '../../../src/outside/discovery/txt-record.ts'
import { readSearchTarget, readServiceType } from '../../../src/schema/outside/discovery.ts'

const answer = encode({
  type: 'response',
  answers: [
    { type: 'PTR', name: '_a._tcp.local', ttl: 10, data: 'one._a._tcp.local' },
    { type: 'SRV', name: 'one._a._tcp.local', ttl: 10, data: { target: 'h.local', port: 1 } },
    { type: 'TXT', name: 'one._a._tcp.local', ttl: 10, data: ['a=b'] },
  ],
  additionals: [{ type: 'A', name: 'h.local', ttl: 10, data: '192.0.2.1' }],
})

test('an answer is read, and what is none, or too much, or damaged, is nothing', () => {
  assert.deepEqual(
    readAnswer(answer).map(({ type, name }) => `${type} ${name}`),
    ['PTR _a._tcp.local', 'SRV one._a._tcp.local', 'TXT one._a._tcp.local', 'A h.local'],
  )
  const question = Buffer.from(answer)
  question.writeUInt16BE(0, 2)
  const many = Buffer.from(answer)
  many.writeUInt16BE(60_000, 6)
  const other = encode({ type: 'response', answers: [{ type: 'PTR', class: 'CH', name: 'a', data: 'b' }] })
  // A name that points at itself.
  const loop = Buffer.concat([
    answer.subarray(0, 12),
    Buffer.from([0xc0, 12, 0, 12, 0, 1, 0, 0, 0, 9, 0, 2, 0xc0, 12]),
  ])
  const nothing = [
    question,
    many,
    other,
    loop,
    Buffer.alloc(0),
    Buffer.alloc(20),
    answer.subarray(0, 40),
    Buffer.alloc(60_000, 0xff),
  ]
  assert.deepEqual(
    nothing.map((message) => readAnswer(message)),
    nothing.map(() => []),
  )
})

test('a message is read up to 9000 bytes and 300 things, whatever they are', () => {
  const one = { type: 'A', name: 'h.local', ttl: 10, data: '192.0.2.1' } as const
  const padding = (bytes: number): Buffer =>
    encode({
      ...{ type: 'response', answers: [one] },
      additionals: [{ type: 'NULL', name: 'h.local', ttl: 10, data: Buffer.alloc(bytes) }],
    })
  const room = 9_000 - padding(0).length
  assert.deepEqual(
    [padding(room), padding(room + 1)].map((message) => readAnswer(message).length),
    [1, 0],
  )
  for (const part of ['questions', 'answers', 'authorities', 'additionals'] as const) {
    const things = (count: number): number => {
      const others = Array.from({ length: count }, () =>
        part === 'questions' ? { ...one, class: 'IN' } : one,
      )
      const parts = { answers: [one], [part]: part === 'answers' ? [one, ...others] : others }
      return readAnswer(encode({ type: 'response', ...parts })).length
    }
    assert.ok(things(299) > 0, part)
    assert.equal(things(300), 0, part)
  }
})

test('an answer that says that something failed, or is of another kind, is none', () => {
  const read = (flags: number): number =>
    readAnswer(
      encode({ ...{ type: 'response', flags }, answers: [{ type: 'A', name: 'h', data: '192.0.2.1' }] }),
    ).length
  const [isAuthoritative, nameError, update] = [0x0400, 3, 5 << 11]
  assert.deepEqual([0, isAuthoritative, nameError, update].map(read), [1, 1, 0, 0])
})

test('only an address that says so takes the place of others', () => {
  const answers = [true, false].map((flush) => ({ type: 'A', name: 'h', data: '192.0.2.1', flush }) as const)
  assert.deepEqual(
    readAnswer(encode({ type: 'response', answers })).map((record) => 'flush' in record && record.flush),
    [true, false],
  )
})

test('no message makes reading fail, or take long', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(answer.length - 1), fc.nat(255)), { maxLength: 30, size: 'max' }),
      (changes) => {
        const message = Buffer.from(answer)
        for (const [at, byte] of changes) if (at !== 2 && at !== 3) message[at] = byte
        readAnswer(message)
      },
    ),
    { numRuns: 2_000 },
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500, size: 'max' }), (bytes) => {
      readAnswer(Buffer.concat([answer.subarray(0, 12), bytes]))
      readSsdp(Buffer.concat([Buffer.from('NOTIFY * HTTP/1.1\r\n'), bytes]), { address: '192.0.2.1' })
    }),
    { numRuns: 2_000 },
  )
  // As many names as may be, each as long as it may be, in as few bytes as it takes.
  const name = Buffer.concat([...Array.from({ length: 126 }, () => Buffer.of(1, 0x61)), Buffer.of(0)])
  const record = Buffer.from([0xc0, 12, 0, 12, 0, 1, 0, 0, 0, 9, 0, 2, 0xc0, 12])
  const first = Buffer.concat([name, Buffer.from([0, 12, 0, 1, 0, 0, 0, 9, 0, 2, 0xc0, 12])])
  const withRecords = (count: number): Buffer => {
    const header = Buffer.from([0, 0, 0x84, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    header.writeUInt16BE(count, 6)
    return Buffer.concat([header, first, ...Array.from({ length: count - 1 }, () => record)])
  }
  assert.deepEqual(readAnswer(withRecords(301)), [])
  const worst = withRecords(300)
  const before = process.cpuUsage()
  for (let time = 0; time < 10; time += 1) assert.equal(readAnswer(worst).length, 300)
  const { user } = process.cpuUsage(before)
  assert.ok(user < 2_000_000, `${user} µs for ten`)
})

test('questions fall into messages of the size of a frame, and a name of an instance is one label', () => {
  const labels = ['a.b', '_x', '_tcp', 'local']
  const messages = writeQueries(Array.from({ length: 200 }, () => ({ labels, type: 'SRV' as const })))
  assert.ok(messages.length > 2 && messages.every(({ length }) => length <= 1_200))
  assert.ok(messages.slice(0, -1).every(({ length }) => length > 1_100))
  const questions = messages.flatMap((message) => decode(message).questions ?? [])
  assert.equal(questions.length, 200)
  assert.deepEqual([questions[0]?.name, questions[0]?.type], ['a.b._x._tcp.local', 'SRV'])
  assert.equal(messages[0]?.[12], 3)
  assert.deepEqual(writeQueries([]), [])
})

test('of what a service tells of itself, huge, nameless and repeated parts are left out', () => {
  const texts = [
    'a=1',
    'A=2',
    '=x',
    '',
    'flag',
    'sum=1=2',
    'é=1',
    ...Array.from({ length: 50 }, (_, at) => `k${at}=${'x'.repeat(200)}`),
  ]
  const read = readTexts(texts.map((text) => Buffer.from(text)))
  assert.deepEqual(read.slice(0, 3), [
    ['a', '1'],
    ['flag', ''],
    ['sum', '1=2'],
  ])
  assert.ok(read.length < 25)
  const many = Array.from({ length: 150 }, (_, at) => Buffer.from(`k${at}`))
  assert.equal(readTexts(many).length, 100)
})

test('an announcement of SSDP is read, and what is none is not', () => {
  const read = (...lines: string[]): unknown =>
    readSsdp(Buffer.from([...lines, '', ''].join('\r\n')), { address: '192.0.2.9' })
  assert.deepEqual(
    read(
      'HTTP/1.1 200 OK',
      'ST: a',
      'usn:b',
      'LOCATION: http://[::1]:5/x',
      'X-Y: é',
      'Cache-Control: no-cache, MAX-AGE = 7',
    ),
    {
      ...{ target: 'a', name: 'b', isGone: false, seconds: 7, host: '::1', port: 5 },
      headers: [
        ['usn', 'b'],
        ['location', 'http://[::1]:5/x'],
        ['x-y', 'Ã©'],
      ],
    },
  )
  assert.deepEqual(
    read('NOTIFY * HTTP/1.1', 'NT: a', 'NTS: ssdp:byebye', 'USN: b', 'LOCATION: javascript:1'),
    {
      ...{ target: 'a', name: 'b', isGone: true, seconds: 1_800, host: '192.0.2.9', port: undefined },
      headers: [
        ['usn', 'b'],
        ['location', 'javascript:1'],
      ],
    },
  )
  // An address that is none leads to who has said it.
  assert.deepEqual(
    ['http://[', 'http://a:99999/', 'https:', '/x'].map((location) => {
      const said = readSsdp(
        Buffer.from(`HTTP/1.1 200 OK\r\nST: a\r\nUSN: b\r\nLOCATION: ${location}\r\n\r\n`),
        { address: '192.0.2.9' },
      )
      return [said?.host, said?.port]
    }),
    Array.from({ length: 4 }, () => ['192.0.2.9', undefined]),
  )
  // Of several that say the same the first counts, and neither what is no header nor what stands behind the head.
  assert.deepEqual(
    read(
      'NOTIFY * HTTP/1.1',
      ...['NT : a', 'NTS: SSDP:update', 'USN: b', 'usn: c', 'Host: d', ': e', 'x y: f', 'AL: http://lamp/'],
      ...['', 'LOCATION: http://other/'],
    ),
    {
      ...{ target: 'a', name: 'b', isGone: false, seconds: 1_800, host: 'lamp', port: 80 },
      headers: [
        ['usn', 'b'],
        ['al', 'http://lamp/'],
      ],
    },
  )
  const others = [
    read('M-SEARCH * HTTP/1.1', 'ST: a', 'USN: b'),
    read('M-SEARCH * HTTP/1.1', 'NT: a', 'NTS: ssdp:alive', 'USN: b'),
    read('HTTP/1.1 200 OK', 'USN: b'),
    read('HTTP/1.1 200 OK', `ST: ${'a'.repeat(300)}`, 'USN: b'),
    read('HTTP/1.1 404 Not Found', 'ST: a', 'USN: b'),
    read('HTTP/1.1 200 OK', 'ST: a'),
    read('NOTIFY * HTTP/1.1', 'NT: a', 'NTS: other', 'USN: b'),
    read('HTTP/1.1 200 OK', 'ST: a', `USN: ${'b'.repeat(300)}`),
    read('HTTP/1.1 200 OK', 'ST: a', 'USN: b', `X: ${'x'.repeat(9_000)}`),
  ]
  assert.deepEqual(
    others,
    others.map(() => undefined),
  )
})

test('of SSDP a message of 8192 bytes is read, names of 255, and of its headers forty, and 4096 bytes', () => {
  const read = (...lines: string[]) =>
    readSsdp(Buffer.from([...lines, '', ''].join('\r\n')), { address: '192.0.2.9' })
  const head = ['HTTP/1.1 200 OK', 'ST: a', 'USN: b']
  const filler = 8_192 - [...head, 'EXT: ', '', ''].join('\r\n').length
  assert.equal(read(...head, `EXT: ${'x'.repeat(filler)}`)?.name, 'b')
  assert.equal(read(...head, `EXT: ${'x'.repeat(filler + 1)}`), undefined)
  const long = 'a'.repeat(255)
  assert.equal(read('HTTP/1.1 200 OK', `ST: ${long}`, `USN: ${long}`)?.name, long)
  assert.equal(read('HTTP/1.1 200 OK', `ST: ${long}a`, 'USN: b'), undefined)
  assert.equal(read('HTTP/1.1 200 OK', 'ST: a', `USN: ${long}a`), undefined)
  const many = Array.from({ length: 50 }, (_, at) => `X${at}: y`)
  assert.equal(read(...head, ...many)?.headers.at(-1)?.[0], 'x37')
  // With the name, `usn` and `b`, they have so many together.
  const exact = `X: ${'x'.repeat(4_096 - 'usnbxyz'.length)}`
  const names = (...lines: string[]): string[] =>
    (read(...head, ...lines)?.headers ?? []).map(([name]) => name)
  assert.deepEqual(names(exact, 'Y: z'), ['usn', 'x', 'y'])
  assert.deepEqual(names(`${exact}x`, 'Y: z'), ['usn', 'x'])
})

for (const [text, expected] of [
  ['_http._tcp', '_http._tcp'],
  [' _HTTP._udp.local. ', '_http._udp'],
  ['_printer._sub._http._tcp', '_printer._sub._http._tcp'],
  ['http._tcp', undefined],
  ['_http._sctp', undefined],
  ['_services._dns-sd._udp', undefined],
  ['_http._tcp.example.org', undefined],
  ['_a b._tcp', undefined],
] as const)
  test(`as a service of DNS-SD ${JSON.stringify(text)} is ${expected ?? 'nothing'}`, () => {
    assert.equal(readServiceType(text), expected)
  })

for (const [text, expected] of [
  ['ssdp:all', 'ssdp:all'],
  [' urn:a:device:B:1 ', 'urn:a:device:B:1'],
  ['a b', undefined],
  ['a\r\nb', undefined],
  ['ä', undefined],
] as const)
  test(`as a search target ${JSON.stringify(text)} is ${expected ?? 'nothing'}`, () => {
    assert.equal(readSearchTarget(text), expected)
  })

test('a search says to which group it went; an address of IPv6 stands in brackets', () => {
  for (const [group, host] of [
    ['239.255.255.250', '239.255.255.250:1900'],
    ['ff02::c', '[ff02::c]:1900'],
  ] as const) {
    const lines = writeSearch('ssdp:all', group, 1900, 2).toString().split('\r\n')
    assert.deepEqual(lines.slice(0, 2), ['M-SEARCH * HTTP/1.1', `HOST: ${host}`])
  }
})
