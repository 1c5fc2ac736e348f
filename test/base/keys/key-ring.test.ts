import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmod, chown, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { systemFileSystem } from '../../../src/base/files/file-system.ts'
import { addKey, parseKeys, readKeyFile } from '../../../src/base/keys/key-file.ts'
import { createKeyRing, keyId, looksSealed, SecretKeyError } from '../../../src/base/keys/key-ring.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'

const isRoot = process.getuid?.() === 0

const [old, young] = [randomBytes(32), randomBytes(32)]

test('a text is opened with its key and in its place, and nowhere else', () => {
  const ring = createKeyRing([young, old])
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), fc.string(), (text, context, other) => {
      const sealed = ring.seal(context, text)
      assert.match(sealed, new RegExp(`^\\$encrypted:v1:${keyId(young)}:[\\w-]+$`))
      assert.ok(looksSealed(sealed))
      assert.equal(createKeyRing([old, young]).open(context, sealed), text)
      assert.throws(() => createKeyRing([old]).open(context, sealed), SecretKeyError)
      if (other !== context) assert.throws(() => ring.open(other, sealed), /belongs elsewhere/)
    }),
  )
})

test('the same text is another one each time', () => {
  const ring = createKeyRing([young])
  assert.notEqual(ring.seal('a', 'text'), ring.seal('a', 'text'))
})

test('no bit of what is sealed can be changed', () => {
  const ring = createKeyRing([young])
  const sealed = Buffer.from(ring.seal('place', 'a secret'))
  for (let bit = 0; bit < sealed.length * 8; bit += 1) {
    const changed = Buffer.from(sealed)
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    const text = changed.toString('utf8')
    assert.throws(() => ring.open('place', text), Error, text)
    assert.ok(looksSealed(text), text)
  }
})

test('without a key nothing is opened, and the message says what to set', () => {
  const sealed = createKeyRing([old]).seal('place', 'text')
  assert.throws(() => createKeyRing([]).open('place', sealed), {
    name: 'SecretKeyError',
    message: `Secrets are encrypted with the key ${keyId(old)}: set HOST_SECRET_KEY_FILE (--secret-key-file) to the file that holds it.`,
  })
  assert.throws(() => createKeyRing([young]).open('place', sealed), /holds [0-9a-f]{8}: add the missing key/)
})

test('a key file holds a key a line, in hexadecimal or base64, and nothing else', () => {
  const key = randomBytes(32)
  const forms = [
    key.toString('hex'),
    key.toString('hex').toUpperCase(),
    key.toString('base64'),
    key.toString('base64url'),
  ]
  for (const form of forms) assert.deepEqual(parseKeys(`# mine\n\n ${form} \r\n`), [key], form)
  assert.deepEqual(parseKeys(`${forms[0]}\n${old.toString('hex')}`), [key, old])
  for (const text of [
    '',
    '# only a word',
    'password',
    key.toString('hex').slice(1),
    `${forms[0]} ${forms[0]}`,
    `${forms[0]}\nrest`,
  ]) {
    assert.equal(parseKeys(text), undefined, text)
  }
})

test('a key file that others may use is refused, and so is one without a key, never with its content', async (context) => {
  const path = join(await temporaryDirectory(context), 'key')
  const text = randomBytes(32).toString('hex')
  await writeFile(path, text)
  if (isRoot) await chown(path, 1, 1)
  for (const mode of [0o644, 0o640, 0o604, 0o602, 0o660]) {
    await chmod(path, mode)
    await assert.rejects(readKeyFile(systemFileSystem, path), (error: Error) => {
      assert.match(
        error.message,
        /can be used by others \(mode 0\d{3}\): run "chmod 600 .*where that changes nothing, .*umask=077/,
      )
      return !error.message.includes(text)
    })
  }
  await chmod(path, 0o400)
  assert.deepEqual((await readKeyFile(systemFileSystem, path)).ids, [keyId(Buffer.from(text, 'hex'))])
  await chmod(path, 0o600)
  await writeFile(path, 'hunter2')
  await assert.rejects(readKeyFile(systemFileSystem, path), (error: Error) => {
    assert.match(error.message, /does not hold a key of 32 bytes/)
    return !error.message.includes('hunter2')
  })
})

test(
  'a key file of root may be read by its group, and keeps that with a new key',
  { skip: isRoot ? false : 'only root can make a file of root' },
  async (context) => {
    const path = join(await temporaryDirectory(context), 'key')
    await writeFile(path, 'ab'.repeat(32))
    await chown(path, 0, 1)
    for (const mode of [0o440, 0o640]) {
      await chmod(path, mode)
      assert.equal((await readKeyFile(systemFileSystem, path)).ids.length, 1)
    }
    for (const mode of [0o644, 0o660, 0o650]) {
      await chmod(path, mode)
      await assert.rejects(readKeyFile(systemFileSystem, path), /can be used by others/)
    }
    await chmod(path, 0o640)
    assert.equal((await addKey(systemFileSystem, path)).created, false)
    const { gid, mode } = await stat(path)
    assert.deepEqual([gid, mode & 0o777], [1, 0o640])
  },
)

test('a new key comes first in the file, which stays its owner’s alone', async (context) => {
  const path = join(await temporaryDirectory(context), 'key')
  const first = await addKey(systemFileSystem, path)
  const second = await addKey(systemFileSystem, path)
  assert.deepEqual([first.created, second.created], [true, false])
  assert.deepEqual((await readKeyFile(systemFileSystem, path)).ids, [second.id, first.id])
  assert.equal((await stat(path)).mode & 0o777, 0o600)
  assert.match(await readFile(path, 'utf8'), /^[0-9a-f]{64}\n[0-9a-f]{64}\n$/)
  // What a power cut may leave of the very first one.
  await writeFile(path, '')
  assert.equal((await addKey(systemFileSystem, path)).created, true)
  assert.match(await readFile(path, 'utf8'), /^[0-9a-f]{64}\n$/)
  await writeFile(path, 'something else')
  await assert.rejects(addKey(systemFileSystem, path), /does not hold a key/)
  assert.equal(await readFile(path, 'utf8'), 'something else')
})
