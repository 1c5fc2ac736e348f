import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { messageBytesLimit } from '../../src/base/text/cut-text.ts'
import { Problem, problemDocument } from '../../src/base/problem.ts'
import { withoutSecrets } from '../../src/http/inspect/messages.ts'
import { journalFileName } from '../../src/journal/segments/segment.ts'
import { snapshotFileName } from '../../src/journal/snapshot/snapshot.ts'
import { writeLargeTexts } from '../helpers/large-texts.ts'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'
import { readEvents } from './clients.ts'

/** A host on the journal of an older version; nothing is loaded, so that the last word of each plugin stays. */
async function startWithLargeTexts(): Promise<{ host: TestHost; ids: string[] }> {
  const first = await startTestHost({ settings: { safeMode: true } })
  await first.host.close()
  for (const name of [snapshotFileName, journalFileName]) await rm(join(first.directory, name))
  const ids = await writeLargeTexts(first.directory)
  return { host: await first.restart(), ids }
}

test('with error texts of megabytes in its journal the host answers with their beginnings everywhere', async () => {
  const { host, ids } = await startWithLargeTexts()
  try {
    const paths = [
      '/api/plugins',
      '/api/history',
      '/api/history/16/state',
      ...ids.map((id) => `/api/plugins/${id}`),
    ]
    for (const path of paths) {
      const { status, body } = await host.request('GET', path)
      const text = JSON.stringify(body)
      assert.equal(status, 200, path)
      assert.match(text, /… \((400|8,000),000 bytes\)/, path)
      assert.ok(text.length < ids.length * 4 * messageBytesLimit, `${path}: ${text.length}`)
    }
    const reader = await readEvents(`${host.url}/api/events?lastEventId=0`)
    const missed = await reader.until(({ id }) => id === '16')
    assert.ok(JSON.stringify(missed).length < ids.length * 4 * messageBytesLimit)
    await reader.close()
  } finally {
    await host.close()
  }
})

test('the inspector introduces plugins with error texts of any size', { timeout: 20_000 }, async () => {
  const { host, ids } = await startWithLargeTexts()
  try {
    const socket = new WebSocket(`${host.url.replace('http', 'ws')}/api/inspect`)
    const sizes: number[] = []
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.on('message', (data: Buffer) => {
        if (sizes.push(data.length) === 2 + 2 * ids.length) resolve()
      })
    })
    const length = sizes.reduce((sum, size) => sum + size, 0)
    socket.terminate()
    assert.ok(length < 1024 * 1024, `${length} bytes`)
  } finally {
    await host.close()
  }
})

test('hiding what is secret takes time in proportion to the text', () => {
  const before = process.cpuUsage()
  const text = 'e.'.repeat(1_000_000)
  assert.equal(withoutSecrets(text), text)
  const { user } = process.cpuUsage(before)
  // Quadratic, it would be twenty minutes.
  assert.ok(user < 5_000_000, `${user} µs`)
})

test('a problem repeats no text of any size', () => {
  const errors = [{ path: '/a', message: 'y'.repeat(500_000) }]
  const document = problemDocument(new Problem('config_invalid', 'x'.repeat(500_000), { errors }))
  assert.match(document.detail, /^x+… \(500,000 bytes\)$/)
  assert.match(document.errors?.[0]?.message ?? '', /^y+… \(500,000 bytes\)$/)
})
