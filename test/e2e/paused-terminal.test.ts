import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { programPath } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { until } from '../helpers/until.ts'

test('a host goes on while its terminal is paused, tells its log later, and ends when it is asked to', async (context) => {
  const directory = await temporaryDirectory(context)
  const path = join(await temporaryDirectory(context), 'terminal')
  const terminal = spawn('socat', ['-u', `pty,raw,echo=0,link=${path}`, '-'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  context.after(() => void terminal.kill('SIGKILL'))
  await until('the terminal', () => Promise.resolve(existsSync(path)))
  const output = await open(path, 'r+')
  const flags = ['--data-dir', directory, '--http-port', '0', '--mqtt-port', '0']
  const host = spawn(
    process.execPath,
    [programPath, ...flags, '--log-format', 'json', '--log-level', 'debug'],
    {
      env: { PATH: process.env.PATH ?? '' },
      stdio: ['ignore', output.fd, 'ignore'],
    },
  )
  context.after(() => void host.kill('SIGKILL'))
  await output.close()

  const lines: Record<string, unknown>[] = []
  const reader = createInterface({ input: terminal.stdout })
  reader.on('line', (line) => lines.push(JSON.parse(line) as Record<string, unknown>))
  const said = (words: string) =>
    until(words, () => Promise.resolve(lines.find(({ msg }) => String(msg).includes(words))))
  const http = String((await said('ready')).http)

  terminal.kill('SIGSTOP')
  const requests = 60
  for (let n = 0; n < requests; n += 1) {
    const { status } = await fetch(`${http}/${n}/${'x'.repeat(4_000)}`)
    assert.equal(status, 404)
  }
  terminal.kill('SIGCONT')
  await until('all requests', () =>
    Promise.resolve(
      lines.filter(({ msg, status }) => msg === 'request' && status === 404).length === requests,
    ),
  )

  terminal.kill('SIGSTOP')
  for (let n = 0; n < requests; n += 1) await fetch(`${http}/${n}/${'x'.repeat(4_000)}`)
  host.kill('SIGTERM')
  assert.deepEqual(await once(host, 'exit'), [0, null])
})
