import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { programPath, startHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/** Commands for a host that is stopped, and somebody who ends them before they are through. */

/** A repair of a damaged journal, which waits for the content of its key file. */
async function beginRepair(context: TestContext) {
  const directory = await temporaryDirectory(context)
  const host = await startHostProcess(directory)
  context.after(() => host.stop('SIGKILL'))
  await host.stop('SIGTERM')
  const journal = join(directory, '.host.journal')
  const damaged = (await readFile(journal, 'utf8')).replace('HostReady', 'HostRaedy')
  await writeFile(journal, damaged)
  const key = join(await temporaryDirectory(context), 'key')
  execFileSync('mkfifo', ['-m', '600', key])
  const flags = ['repair', '--data-dir', directory, '--secret-key-file', key]
  const command = spawn(process.execPath, [programPath, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] })
  context.after(() => void command.kill('SIGKILL'))
  const ended = once(command, 'exit')
  const [answer, words] = [text(command.stdout), text(command.stderr).catch(() => 'nobody reads it')]
  // It comes back once the command has opened it, too.
  const keyFile = await open(key, 'w')
  context.after(() => keyFile.close())
  return {
    /** Resolves when the command has said something of it, or has ended. */
    async end(signal: NodeJS.Signals): Promise<void> {
      command.kill(signal)
      await Promise.race([once(command.stderr, 'data'), ended])
    },
    send: (signal: NodeJS.Signals) => command.kill(signal),
    /** Nobody reads what it says of itself any more. */
    async leave(): Promise<void> {
      const closed = once(command.stderr, 'close')
      command.stderr.destroy()
      await closed
    },
    async goOn(): Promise<void> {
      await keyFile.writeFile('0'.repeat(64)).catch(() => undefined)
      await keyFile.close()
    },
    outcome: async () => ({ ended: await ended, answer: await answer, words: await words }),
    damaged,
    journal: () => readFile(journal, 'utf8'),
    async copies(): Promise<string[]> {
      const names = (await readdir(directory)).filter((name) => name.includes('.damaged-'))
      return Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')))
    },
  }
}

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  test(`a command that is told to end by ${signal} finishes what it has begun, says so, and ends with ${code}`, async (context) => {
    const repair = await beginRepair(context)
    await repair.end(signal)
    await repair.goOn()
    const { ended, answer, words } = await repair.outcome()
    assert.match(
      words,
      new RegExp(
        `^lupine: ${signal}: what has begun is finished first, .*a second signal ends it at once\\.\n$`,
      ),
    )
    assert.deepEqual(ended, [code, null])
    assert.match(answer, /^Cut the journal before line/)
    assert.deepEqual(await repair.copies(), [repair.damaged])
  })
}

test('a terminal that is closed, however often it says so, ends no command half-way', async (context) => {
  const repair = await beginRepair(context)
  repair.send('SIGHUP')
  repair.send('SIGHUP')
  await repair.goOn()
  const { ended, words } = await repair.outcome()
  assert.deepEqual([ended, words], [[129, null], ''])
  assert.deepEqual(await repair.copies(), [repair.damaged])
})

test('a command whose reader is ended by the same signal finishes what it has begun', async (context) => {
  const repair = await beginRepair(context)
  await repair.leave()
  repair.send('SIGINT')
  await repair.goOn()
  assert.deepEqual((await repair.outcome()).ended, [130, null])
  assert.deepEqual(await repair.copies(), [repair.damaged])
})

test('a command that is told to end once more ends at once', async (context) => {
  const repair = await beginRepair(context)
  await repair.end('SIGINT')
  await repair.end('SIGTERM')
  assert.deepEqual((await repair.outcome()).ended, [null, 'SIGTERM'])
  assert.deepEqual([await repair.journal(), await repair.copies()], [repair.damaged, []])
})
