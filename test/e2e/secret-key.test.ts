import assert from 'node:assert/strict'
import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { contentOf } from '../helpers/content-of.ts'
import { writeFixtureRepository } from '../helpers/fixture-repository.ts'
import { runProgram, startHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

const free = ['--http-port', '0', '--mqtt-port', '0']
const secret = 'canary-of-the-command-line'

test('a key is made, used, rotated and taken out again on the command line; without it the host says so and touches nothing', async (context) => {
  const folder = await temporaryDirectory(context)
  const [directory, repository, key] = ['data', 'repository', 'key'].map((name) => join(folder, name))
  assert.ok(directory !== undefined && repository !== undefined && key !== undefined)
  await writeFixtureRepository(repository, [{ id: 'quiet', lua: 'Plugin:new("quiet")' }])
  const withKey = ['--data-dir', directory, '--secret-key-file', key]

  const made = await runProgram(['secret-key', '--secret-key-file', key])
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stdout, /Made .* with the key [0-9a-f]{8}/)
  assert.equal((await stat(key)).mode & 0o777, 0o600)

  const host = await startHostProcess(directory, { flags: ['--secret-key-file', key] })
  context.after(() => host.stop('SIGKILL'))
  const post = async (path: string, body: unknown): Promise<void> => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(host.http + path, { method: 'POST', headers, body: JSON.stringify(body) })
    assert.ok(answer.ok, await answer.text())
  }
  await post('/api/repositories', { name: 'fixtures', url: repository })
  await post('/api/plugins/install', { fullId: '@fixtures/quiet' })
  await post('/api/plugins/quiet/config', { config: { password: secret } })
  const busy = await runProgram(['rotate-key', ...withKey])
  assert.deepEqual(
    [busy.code, busy.stderr],
    [1, `lupine: A host is running in ${directory}; stop it first.\n`],
  )
  assert.equal(await host.stop('SIGKILL'), null)

  const before = await contentOf(directory)
  assert.ok(!JSON.stringify(before).includes(secret))
  for (const name of Object.keys(before)) {
    assert.equal((await stat(join(directory, name))).mode & 0o077, 0, `${name} is its owner's alone`)
  }
  const refusals: [string[], number, RegExp][] = [
    [
      ['--data-dir', directory, ...free],
      1,
      /^lupine: Secrets are encrypted with the key \w{8}: set HOST_SECRET_KEY_FILE .*\n$/,
    ],
    [
      [...withKey.slice(0, 3), '/no/such/key', ...free],
      2,
      /^lupine: HOST_SECRET_KEY_FILE cannot be used: ENOENT.*Correct the path .*"lupine secret-key" makes such a file\.\n$/,
    ],
    // Docker makes a folder where the file of a volume is missing.
    [
      [...withKey.slice(0, 3), folder, ...free],
      2,
      /^lupine: HOST_SECRET_KEY_FILE cannot be used: .* is a folder; .*"lupine secret-key" makes\.\n$/,
    ],
    [
      ['secret-key', '--secret-key-file', '/no/such/key'],
      1,
      /^lupine: The folder \/no\/such is not there; make it first\.\n$/,
    ],
    [
      ['rotate-key', '--data-dir', directory],
      2,
      /^lupine: HOST_SECRET_KEY_FILE .* must be set for this command\.\n$/,
    ],
  ]
  for (const [flags, code, line] of refusals) {
    const refused = await runProgram(flags)
    assert.equal(refused.code, code)
    assert.match(refused.stderr, line)
  }
  await chmod(key, 0o644)
  assert.match((await runProgram([...withKey, ...free])).stderr, /can be used by others .*chmod 600/)
  await chmod(key, 0o600)
  const other = join(folder, 'other')
  await writeFile(other, 'ab'.repeat(32), { mode: 0o600 })
  const wrong = await runProgram([...withKey.slice(0, 3), other, ...free])
  assert.deepEqual([wrong.code, /add the missing key to that file/.test(wrong.stderr)], [1, true])
  assert.deepEqual(await contentOf(directory), before)

  assert.match((await runProgram(['secret-key', '--secret-key-file', key])).stdout, /is the first in/)
  const [young = ''] = (await readFile(key, 'utf8')).split('\n')
  const rotated = await runProgram(['rotate-key', ...withKey])
  assert.equal(rotated.code, 0, rotated.stderr)
  assert.match(
    rotated.stdout,
    /All secrets are encrypted .*\nThis directory does not need [0-9a-f]{8} any more/,
  )
  await writeFile(key, young)
  const again = await startHostProcess(directory, { flags: ['--secret-key-file', key] })
  context.after(() => again.stop('SIGKILL'))
  assert.equal(await again.stop('SIGTERM'), 0)
  assert.equal((await runProgram(['decrypt', ...withKey])).code, 0)
  assert.ok(JSON.stringify(await contentOf(directory)).includes(secret))
})
