import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemFileSystem } from '../../src/base/files/file-system.ts'
import { silentLogger } from '../../src/base/log/log.ts'
import { takeDirectory } from '../../src/host/start-conditions.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

test('a start that meets another one, which fails just then and takes its directories away, makes them anew', async (context) => {
  const folder = await temporaryDirectory(context)
  const directory = join(folder, 'not', 'there', 'yet')
  const take = () => takeDirectory(directory, systemFileSystem, silentLogger)
  let taken = 0
  for (let round = 0; round < 200; round += 1) {
    const failing = await take()
    const [, second] = await Promise.allSettled([failing.release({ withFile: true }), take()])
    if (second.status === 'rejected') {
      assert.match(String(second.reason), /Another host is running in /)
      continue
    }
    taken += 1
    await access(join(directory, '.host.lock'))
    assert.equal(await second.value.isMoved(), false)
    await second.value.release({ withFile: true })
  }
  assert.ok(taken > 0)
})
