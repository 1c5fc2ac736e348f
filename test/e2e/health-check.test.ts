import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { startHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/** The health check of the container, against a host as it runs there. */

const root = join(import.meta.dirname, '..', '..')
const tls = join(root, 'test', 'fixtures', 'tls')

async function check(environment: Record<string, string>): Promise<[code: number, stderr: string]> {
  const child = spawn(process.execPath, [join(root, 'scripts', 'health-check.mjs')], {
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (chunk) => (stderr += String(chunk)))
  const [code] = await once(child, 'close')
  return [code, stderr]
}

for (const [title, settings] of [
  ['without TLS', {}],
  [
    'with TLS',
    {
      HOST_TLS_CERT_FILE: join(tls, 'certificate.pem'),
      HOST_TLS_KEY_FILE: join(tls, 'key.pem'),
      HOST_TOKEN: 'correct-horse-battery-staple',
      HOST_HTTP_BIND: '0.0.0.0',
    },
  ],
] as const) {
  test(`the health check finds a host ${title} alive, and tells in one line when it is gone`, async (t) => {
    const host = await startHostProcess(await temporaryDirectory(t), { environment: settings })
    t.after(() => host.stop('SIGKILL'))
    const environment = { ...settings, HOST_HTTP_PORT: new URL(host.http).port }
    assert.deepEqual(await check(environment), [0, ''])
    await host.stop('SIGTERM')
    const [code, stderr] = await check(environment)
    assert.equal(code, 1)
    assert.match(stderr, /^The host does not answer at 127\.0\.0\.1, port \d+: .*\n$/)
  })
}

test('a port that is none is told in one line, too', async () => {
  const [code, stderr] = await check({ HOST_HTTP_PORT: 'x' })
  assert.equal(code, 1)
  assert.match(stderr, /^The host does not answer .*\n$/)
})
