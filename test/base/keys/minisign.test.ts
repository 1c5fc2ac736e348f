import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  MinisignError,
  parseMinisign,
  parsePublicKey,
  signingTime,
  verifyMinisign,
} from '../../../src/base/keys/minisign.ts'
import { makeSecretKey, parseSecretKey, signMinisign } from '../../../src/base/keys/minisign-secret-key.ts'
import { messageOf } from '../../../src/base/problem.ts'

const fixtures = join(import.meta.dirname, '..', '..', 'fixtures', 'minisign')
const read = (name: string): Buffer => readFileSync(join(fixtures, name))
const text = (name: string): string => read(name).toString('utf8')
const publicKey = parsePublicKey(text('public.key'))
const hashed = text('hashed.minisig')
const lineOf = (content: string, number: number): string => content.split('\n')[number] ?? ''
const withLine = (content: string, number: number, line: string): string =>
  content
    .split('\n')
    .map((old, position) => (position === number ? line : old))
    .join('\n')
/** A line of base64 with one byte changed. */
const changed = (line: string, at: number, change: (byte: number) => number): string => {
  const bytes = Buffer.from(line, 'base64')
  bytes[at] = change(bytes[at] ?? 0)
  return bytes.toString('base64')
}
const flip = (byte: number): number => byte ^ 1

test('what minisign has signed is accepted, hashed and in the old way, with its time', () => {
  for (const [name, isHashed, time] of [
    ['hashed.minisig', true, 1_795_249_371],
    ['legacy.minisig', false, undefined],
  ] as const) {
    const signed = parseMinisign(read(name))
    verifyMinisign(read('message'), signed, publicKey)
    assert.deepEqual([signed.hashed, signingTime(signed)], [isHashed, time], name)
  }
})

test('a key of minisign without a password signs, and its public half is the one of the file beside it', () => {
  const key = parseSecretKey(text('secret.key'))
  assert.deepEqual([key.public.text, key.public.id], [publicKey.text, publicKey.id])
  const signed = parseMinisign(Buffer.from(signMinisign(read('message'), 'message', 7, key)))
  verifyMinisign(read('message'), signed, publicKey)
  assert.equal(signingTime(signed), 7)
})

test('a new key is read again from its text, and no two are the same', () => {
  const [first, second] = [makeSecretKey(), makeSecretKey()]
  assert.notEqual(first.key.public.id, second.key.public.id)
  const again = parseSecretKey(first.text)
  assert.deepEqual([again.public.text, Buffer.from(again.keyId)], [first.key.public.text, first.key.keyId])
  assert.ok(again.private.equals(first.key.private))
  // All but the id and the key, which take the bytes 54 to 125, is as minisign writes it, or minisign refuses the key.
  const [own, ofMinisign] = [first.text, text('secret.key')].map((file) =>
    Buffer.from(lineOf(file, 1), 'base64'),
  )
  for (const bytes of [own, ofMinisign]) bytes?.fill(0, 54, 126)
  assert.deepEqual(own, ofMinisign)
})

test('a public key is read with its comment, without it, with line ends of Windows and blanks around it', () => {
  const line = publicKey.text
  const comment = 'untrusted comment: minisign public key'
  for (const written of [
    line,
    `${line}\n`,
    `${comment}\n${line}\n`,
    `${comment}\r\n${line}\r\n`,
    ` ${line} `,
  ]) {
    assert.equal(parsePublicKey(written).text, line)
  }
  assert.equal(lineOf(text('public.key'), 1), line)
})

const badKeys: [title: string, key: string, message: RegExp][] = [
  ['nothing', '', /is empty/],
  ['a comment alone', 'untrusted comment: x', /is empty/],
  ['words', 'my key', /56 characters that begin with RW/],
  ['a character less', publicKey.text.slice(0, -1), /56 characters/],
  ['another algorithm', `RX${publicKey.text.slice(2)}`, /56 characters/],
  ['two keys', `${publicKey.text}\n${publicKey.text}`, /more than one line/],
  ['a secret key', text('secret.key'), /looks like a secret one/],
]
for (const [title, key, message] of badKeys) {
  test(`a public key that is none is refused with a reason, and not repeated: ${title}`, () => {
    assert.throws(
      () => parsePublicKey(key),
      (error) => {
        assert.ok(error instanceof MinisignError)
        assert.match(error.message, message)
        if (key.length > 20) assert.ok(!error.message.includes(key.slice(-20)))
        return true
      },
    )
  })
}

const badSecrets: [title: string, content: string, message: RegExp][] = [
  ['nothing', '', /is not a secret key/],
  ['a public key', text('public.key'), /is not a secret key/],
  ['one with a password', text('password.key'), /has a password.*--hashes-only.*minisign -S/],
  [
    'a flipped bit',
    withLine(text('secret.key'), 1, changed(lineOf(text('secret.key'), 1), 70, flip)),
    /is damaged/,
  ],
]
for (const [title, content, message] of badSecrets) {
  test(`a secret key that is none is refused with a reason: ${title}`, () => {
    assert.throws(
      () => parseSecretKey(content),
      (error) => {
        assert.ok(error instanceof MinisignError)
        assert.match(error.message, message)
        return true
      },
    )
  })
}

const flipped = (number: number, byte: number): string =>
  withLine(hashed, number, changed(lineOf(hashed, number), byte, flip))

const badSignatures: [title: string, content: string, message: RegExp][] = [
  ['nothing', '', /not a signature file/],
  ['a web page', '<!doctype html>\n<title>Not found</title>', /not a signature file/],
  ['a line less', hashed.split('\n').slice(0, 3).join('\n'), /not a signature file/],
  ['a line more', `${hashed}more\n`, /not a signature file/],
  ['no trusted comment', withLine(hashed, 2, 'comment: x'), /not a signature file/],
  ['a signature that is too short', withLine(hashed, 1, lineOf(hashed, 1).slice(4)), /not a signature file/],
  ['base64 that is none', withLine(hashed, 3, `${lineOf(hashed, 3).slice(1)}!`), /not a signature file/],
  [
    'an unknown algorithm',
    withLine(
      hashed,
      1,
      changed(lineOf(hashed, 1), 0, () => 0x58),
    ),
    /algorithm that is not known/,
  ],
  ['another key', flipped(1, 2), /is made with the key [0-9A-F]{16}, not with [0-9A-F]{16}/],
  [
    'the signature of the hash taken for one of the message',
    withLine(
      hashed,
      1,
      changed(lineOf(hashed, 1), 1, () => 0x64),
    ),
    /of another content/,
  ],
  ['a flipped bit of the signature', flipped(1, 40), /of another content/],
  ['a flipped bit of the global signature', flipped(3, 40), /trusted comment that is not the signed one/],
  ['another trusted comment', hashed.replace(/timestamp:\d+/, 'timestamp:9'), /that is not the signed one/],
  ['a blank at its end', hashed.replace(/hashed\n/, 'hashed \n'), /that is not the signed one/],
]
for (const [title, content, message] of badSignatures) {
  test(`a signature is refused with a reason: ${title}`, () => {
    assert.throws(
      () => verifyMinisign(read('message'), parseMinisign(Buffer.from(content)), publicKey),
      (error) => {
        assert.ok(error instanceof MinisignError, String(error))
        assert.match(messageOf(error), message)
        return true
      },
    )
  })
}

test('a signature of another message, and of another key with the same id, is refused', () => {
  const signed = parseMinisign(Buffer.from(hashed))
  assert.throws(() => verifyMinisign(Buffer.from('Another message'), signed, publicKey), /of another content/)
  const other = { ...makeSecretKey().key.public, id: publicKey.id }
  assert.throws(() => verifyMinisign(read('message'), signed, other), /of another content, or of another key/)
})

test('no single bit of a signature file can change without being noticed, but for the untrusted comment', () => {
  const content = Buffer.from(hashed)
  const first = hashed.indexOf('\n') + 1
  for (let bit = first * 8; bit < content.length * 8; bit += 1) {
    const bytes = Buffer.from(content)
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.throws(
      () => verifyMinisign(read('message'), parseMinisign(bytes), publicKey),
      MinisignError,
      `bit ${bit}`,
    )
  }
})

const comments: [comment: string, time: number | undefined][] = [
  ['timestamp:12\tfile:x', 12],
  ['file:x\ttimestamp:12', 12],
  ['timestamp:12', 12],
  ['timestamp:0', 0],
  ['timestamp:-1', undefined],
  ['timestamp:1e3', undefined],
  ['xtimestamp:12', undefined],
  ['timestamp:999999999999999', 999_999_999_999_999],
  ['timestamp:9999999999999999', undefined],
  ['timestamp: 12', undefined],
  ['', undefined],
]
test('the time of a signature is read from its trusted comment, if it is a plain number', () => {
  for (const [comment, time] of comments) {
    const signed = { ...parseMinisign(Buffer.from(hashed)), trustedComment: Buffer.from(comment) }
    assert.equal(signingTime(signed), time, comment)
  }
})
