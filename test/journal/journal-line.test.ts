import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { decodeLine, encodeLine } from '../../src/journal/lines/journal-line.ts'
import { NewerFormatError, type Upcasters, upcast } from '../../src/journal/lines/upcast.ts'

/** As it stands on the disks of those who have Lupine: it is read for ever. */
const written = '{"version":1,"seq":7,"type":"HostStarted","checksum":"a018e8ff16e4bc42"}'
const value = { version: 1, seq: 7, type: 'HostStarted' }

/** The bytes before the checksum with that which they have. */
function signed(body: string): string {
  const checksum = createHash('sha256').update(body).digest('hex').slice(0, 16)
  return `${body},"checksum":"${checksum}"}`
}

test('a line is written and read as by every version so far', () => {
  assert.equal(encodeLine(value), written)
  assert.deepEqual(decodeLine(Buffer.from(written)), { ok: true, value })
  assert.equal(signed('{"version":1,"seq":7,"type":"HostStarted"'), written)
})

test('a line that cannot be believed says why', () => {
  const reasons: [line: string, reason: string][] = [
    ['', 'its checksum does not match'],
    ['{}', 'its checksum does not match'],
    [written.replace('7', '8'), 'its checksum does not match'],
    [written.slice(1), 'its checksum does not match'],
    [`${written} `, 'its checksum does not match'],
    [signed('{"version":1,"seq":'), 'it is not JSON'],
    [signed('[{"version":1'), 'it is not JSON'],
  ]
  for (const [line, reason] of reasons)
    assert.deepEqual(decodeLine(Buffer.from(line)), { ok: false, reason }, line)
})

test('an event of any older format is lifted one format after the other', () => {
  const lift: Upcasters = {
    1: ({ name = null, ...rest }) => ({ ...rest, title: name }),
    2: ({ title = null, ...rest }) => ({ ...rest, titles: [title] }),
  }
  const lifted = { seq: 7, version: 3, titles: ['x'] }
  for (const event of [{ seq: 7, version: 1, name: 'x' }, { seq: 7, version: 2, title: 'x' }, lifted])
    assert.deepEqual(upcast(event, lift, 3), lifted)
  assert.throws(() => upcast({ version: 0 }, lift, 3), /nothing lifts format 0 to 1/)
  assert.throws(() => upcast({ version: 4 }, lift, 3), NewerFormatError)
  for (const event of [{}, { version: null }, { version: '1' }, { version: 1.5 }, { version: -1 }])
    assert.throws(() => upcast(event, lift, 3), /it has no format version/)
})
