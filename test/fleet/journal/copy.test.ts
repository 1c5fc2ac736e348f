import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import type { FileSystem } from '../../../src/base/files/file-system.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { createCopy } from '../../../src/fleet/journal/copy.ts'
import { openJournalStream } from '../../../src/fleet/journal/journal-stream.ts'
import { openJournal } from '../../../src/journal/journal.ts'
import { noVault } from '../../../src/journal/vault.ts'
import { configured, id, installation } from '../../helpers/any-fact.ts'
import { failingFileSystem } from '../../helpers/failing-file-system.ts'
import { everythingOf } from '../../helpers/journal-stage.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'
import { createFleetStage } from '../fleet-stage.ts'

const stage = createFleetStage()

/** A copy that nobody appends to, from where it has followed the stream, and how often that was ended. */
async function openCopy(context: TestContext, fleet: string, files: FileSystem) {
  const stream = await openJournalStream(await stage.connection(context), fleet)
  const followed: (number | string)[] = []
  let ended = 0
  const failures: string[] = []
  const settings = { clock: systemClock, logger: silentLogger }
  let copy: ReturnType<typeof createCopy> | undefined
  const journal = await openJournal({
    ...{ ...settings, files, directory: await temporaryDirectory(context), isCopy: true },
    createQueue(parts) {
      const opened = createCopy({
        ...{ ...settings, parts, vault: noVault },
        failed: ({ message }) => void failures.push(message),
        requireOwnEnd: () => Promise.resolve(),
        stream: {
          ...stream,
          async follow(from, pace, follower) {
            followed.push(from)
            const following = await stream.follow(from, pace, follower)
            return {
              close() {
                ended += 1
                return following.close()
              },
            }
          },
        },
      })
      copy = opened
      return { append: () => Promise.reject(new Error('Nobody appends here')), idle: () => opened.idle() }
    },
  })
  await copy?.start()
  context.after(async () => {
    await copy?.close()
    await journal.close()
  })
  return { journal, failures, followed, ended: () => ended }
}

test('while the disk of a copy takes nothing, what waits for it has an end, and nothing is missing once there is room', async (context) => {
  const fleet = stage.newFleet()
  const host = await stage.openHost(context, fleet)
  await host.append(installation(id), 'http')
  let isFull = false
  const files = failingFileSystem((operation) => isFull && operation === 'write')
  const { journal, failures, followed, ended } = await openCopy(context, fleet, files)
  assert.equal(journal.state.seq, 2)

  isFull = true
  // With all that stands beside it, half a mebibyte.
  const text = 'x'.repeat(512 * 1024)
  for (let n = 0; n < 40; n += 1) await host.append([configured(id, { n, text })], 'http')
  await until('an end of what is taken', async () => ended() === followed.length)
  const before = followed.length

  isFull = false
  await until('the last event', async () => journal.state.seq === 42)
  // Sixteen of them are the eight mebibytes that may wait.
  assert.equal(followed[before], 18)
  assert.deepEqual([everythingOf(journal), failures], [everythingOf(host), []])
})
