import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { createFleetStage } from '../fleet/fleet-stage.ts'
import { programPath, runProgram, startHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

const stage = createFleetStage()
const composeFile = join(import.meta.dirname, '..', '..', 'docker-compose.yml')

/** What a container of a host of a fleet runs its command with, whichever that is. */
async function entrypointScript(): Promise<string> {
  const [part = ''] = /^x-fleet-host:.*?^(?=\S)/ms.exec(await readFile(composeFile, 'utf8')) ?? []
  const [, script = ''] =
    /^ {2}entrypoint:\n {4}- sh\n {4}- -c\n {4}- \|\n((?: {6}.*\n)+) {4}- lupine\n/m.exec(part) ?? []
  return script.replaceAll('$$', '$')
}

test('a command in the container of a host of a fleet has its key file: docker compose run takes a host in', async (context) => {
  const folder = await temporaryDirectory(context)
  const [directory, key, secret] = ['data', 'key', 'secret_key'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  await runProgram(['secret-key', '--secret-key-file', secret])
  // As docker/make-secrets.sh leaves it.
  await chmod(secret, 0o444)
  await writeFile(join(folder, 'mqtt_host_password'), 'word\n')
  const host = await startHostProcess(directory)
  assert.equal(await host.stop('SIGTERM'), 0)

  const places = { '/run/secrets': folder, '/tmp/secret_key': key }
  let script = await entrypointScript()
  for (const [there, here] of Object.entries(places)) script = script.replaceAll(there, here)
  const words = ['fleet', 'join', '--data-dir', directory]
  const environment = {
    PATH: process.env.PATH ?? '',
    HOST_FLEET_URL: stage.url(),
    HOST_FLEET: stage.newFleet(),
    HOST_SECRET_KEY_FILE: key,
  }
  const line = ['-c', script, 'lupine', process.execPath, programPath, ...words]
  const { stdout } = await promisify(execFile)('sh', line, { env: environment })
  assert.match(stdout, /^The fleet .* begins with the journal of .*: 0 plugins\.\n/)
})
