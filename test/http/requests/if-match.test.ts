import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectedRevision, parseIfMatch } from '../../../src/http/requests/if-match.ts'

test('If-Match takes revisions in quotes, weak ones, lists and *', () => {
  const headers = {
    '"5"': ['5'],
    'W/"5"': ['5'],
    '*': '*',
    ' * ': '*',
    [Array(32).fill('"1"').join()]: Array(32).fill('1'),
    '"5", W/"6"': ['5', '6'],
    '"abc"': ['abc'],
    '""': [''],
  }
  assert.deepEqual(
    Object.fromEntries(Object.keys(headers).map((header) => [header, parseIfMatch(header)])),
    headers,
  )
  for (const header of ['5', '"5', 'w/"5"', '"5",', '', '"5" "6"', '*, "5"', Array(33).fill('"1"').join()]) {
    assert.throws(() => parseIfMatch(header), { code: 'body_invalid' }, header)
  }
})

test('the revision to expect is the one tag, or that of a list which is the present one', async () => {
  const at = (revision: number | undefined) => () => Promise.resolve(revision)
  assert.deepEqual(
    await Promise.all([
      expectedRevision(undefined, at(7)),
      expectedRevision('*', at(7)),
      // Left to the command, which compares when its turn comes.
      expectedRevision('"5"', at(7)),
      expectedRevision('"5", "7"', at(7)),
    ]),
    [undefined, undefined, 5, 7],
  )
  for (const [header, revision] of [
    ['"5", "6"', 7],
    ['"abc"', 7],
    ['"5x"', 5],
    ['"x5"', 5],
    ['"undefined"', undefined],
    ['"5", "6"', undefined],
  ] as const) {
    await assert.rejects(expectedRevision(header, at(revision)), { code: 'revision_conflict' }, header)
  }
})
