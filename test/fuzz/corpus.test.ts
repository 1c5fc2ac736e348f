import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseMinisign, parsePublicKey } from '../../src/base/keys/minisign.ts'
import { messageOf } from '../../src/base/problem.ts'
import { systemFileSystem } from '../../src/base/files/file-system.ts'
import { createKeyRing } from '../../src/base/keys/key-ring.ts'
import { tlsFault } from '../../src/base/keys/tls-identity.ts'
import { decodeLine } from '../../src/journal/lines/journal-line.ts'
import { readSnapshot, snapshotFileName } from '../../src/journal/snapshot/snapshot.ts'
import { upcast, upcasters } from '../../src/journal/lines/upcast.ts'
import { decodeStore } from '../../src/lifecycle/stores/key-value-file.ts'
import { readRequest } from '../../src/mqtt-api/mqtt-commands.ts'
import { readIndexFile } from '../../src/repository/index/index-file.ts'
import { parseManifest } from '../../src/schema/manifest/manifest.ts'
import type { Parsed } from '../../src/schema/parsing/parser.ts'
import { parseStoredEvent } from '../../src/schema/journal/stored-event.ts'
import { parseWorkerMessage } from '../../src/schema/worker/worker-protocol.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/**
 * Inputs that somebody thought of, by the border that they come to: `corpus/<border>/taken` and `…/refused`. Whoever
 * finds a nasty one puts it there.
 */
const corpus = join(import.meta.dirname, 'corpus')

function orThrow(parsed: Parsed<unknown>): void {
  if (!parsed.ok) throw new Error(parsed.errors.map(({ path, message }) => `${path} ${message}`).join('; '))
}

/** Each throws when the input is refused. */
const borders: Record<string, (input: Buffer, directory: string) => void | Promise<void>> = {
  manifest(input) {
    parseManifest(input, { fullId: '@fixtures/hello', namespace: 'fixtures', shortId: 'hello' })
  },
  minisig: (input) => void parseMinisign(input),
  'public-key': (input) => void parsePublicKey(input.toString('utf8')),
  index: (input) => void readIndexFile(input),
  'mqtt-request': (input) => void readRequest(input),
  'journal-line'(input) {
    const line = decodeLine(input)
    if (!line.ok) throw new Error(line.reason)
    orThrow(parseStoredEvent(upcast(line.value, upcasters)))
  },
  async 'host-file'(input, directory) {
    await mkdir(directory)
    await writeFile(join(directory, snapshotFileName), input)
    await readSnapshot(systemFileSystem, directory)
  },
  // Checksum, shape and, without the key, encryption.
  'key-value-file': (input) => void decodeStore('@fixtures/hello', input, createKeyRing([])),
  // Certificate and key in one file, as both settings may name it.
  'tls-identity'(input) {
    const text = input.toString('utf8')
    const fault = tlsFault({ certificate: text, key: text })
    if (fault !== undefined) throw new Error(fault)
  },
  'worker-message': (input) => orThrow(parseWorkerMessage(JSON.parse(input.toString('utf8')))),
}

for (const [border, take] of Object.entries(borders)) {
  test(`${border}: what is in the corpus is taken, or refused with a reason`, async (context) => {
    const scratch = await temporaryDirectory(context)
    for (const name of await readdir(join(corpus, border, 'taken'))) {
      await take(await readFile(join(corpus, border, 'taken', name)), join(scratch, `taken-${name}`))
    }
    for (const name of await readdir(join(corpus, border, 'refused'))) {
      const input = await readFile(join(corpus, border, 'refused', name))
      await assert.rejects(
        async () => take(input, join(scratch, `refused-${name}`)),
        (error) => {
          assert.match(messageOf(error), /\w+ \w+/, name)
          assert.ok(
            !(error instanceof TypeError || error instanceof RangeError),
            `${name}: ${messageOf(error)}`,
          )
          return true
        },
        `${border}/${name} was taken`,
      )
    }
  })
}

test('every border has its inputs, and none is forgotten', async () => {
  assert.deepEqual((await readdir(corpus)).sort(), Object.keys(borders).sort())
})
