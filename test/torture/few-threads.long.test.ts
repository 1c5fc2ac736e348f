import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chown, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { writeFixtureRepository } from '../helpers/fixture-repository.ts'
import { launchHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { until } from '../helpers/until.ts'

const nobody = 65_534
/** The kernel lets root have as many threads as it wants. */
const asUser =
  process.getuid?.() === 0 ? ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'] : []

function run(...line: string[]): boolean {
  const [program = '', ...words] = [...asUser, ...line]
  return spawnSync(program, words, { stdio: 'ignore' }).status === 0
}

interface Plugin {
  state: string
  version: string
  config: object
  error: { code: string; message: string } | null
}

test('where no thread can be started the host goes on, and an update is neither taken back for that nor are its settings', async (context) => {
  if (!run('prlimit', '--nproc=1:', 'true')) {
    context.skip('the limit of threads cannot be set here')
    return
  }
  const data = join(await temporaryDirectory(context), 'data')
  const repository = `${data}-repository`
  if (asUser.length > 0) await chown(dirname(data), nobody, nobody)
  const publish = (version: string): Promise<void> =>
    writeFixtureRepository(repository, [{ id: 'tally', version, lua: 'Plugin:new("tally")' }])
  await publish('1.0.0')
  const host = launchHostProcess(data, { within: asUser, flags: ['--isolation', 'dedicated'] })
  context.after(() => host.stop('SIGKILL'))
  const { http } = await host.ready
  async function ask(method: string, path: string, body?: object): Promise<Plugin> {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${String(http)}/api/${path}`, {
      ...{ method, headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    assert.ok(answer.ok, `${path}: ${answer.status}`)
    return (await answer.json()) as Plugin
  }
  const plugin = 'plugins/@fixtures/tally'
  const limitThreads = (limit: string): void =>
    assert.ok(run('prlimit', '--pid', String(host.process.pid), `--nproc=${limit}`))
  await ask('POST', 'repositories', { name: 'fixtures', url: repository })
  await ask('POST', 'plugins/install', { fullId: '@fixtures/tally' })
  await ask('POST', `${plugin}/toggle`, { enabled: true })
  await publish('2.0.0')

  limitThreads('1:')
  const { version, state, error } = await ask('POST', `${plugin}/update`, {})
  assert.deepEqual(
    { version, state, code: error?.code },
    { version: '2.0.0', state: 'failed', code: 'worker_died' },
  )
  assert.match(error?.message ?? '', /no worker thread could be started: EAGAIN/)
  assert.equal((await ask('POST', `${plugin}/config`, { config: { n: 7 } })).state, 'failed')

  const [, most = ''] =
    /Max processes +\S+ +(\S+)/.exec(await readFile(`/proc/${host.process.pid}/limits`, 'utf8')) ?? []
  limitThreads(`${most}:`)
  await until('the plugin to run', async () => (await ask('GET', plugin)).state === 'running')
  const now = await ask('GET', plugin)
  assert.deepEqual({ version: now.version, config: now.config }, { version: '2.0.0', config: { n: 7 } })
})
