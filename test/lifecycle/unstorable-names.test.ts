import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FileSystem, systemFileSystem } from '../../src/base/files/file-system.ts'
import { startHostFor } from '../helpers/test-host.ts'

test('a plugin with a name of a file that the file system refuses as not there is refused for that, and is no mistake of the host', async (context) => {
  // As Windows, and exFAT in some systems, do with these characters.
  const files: FileSystem = {
    ...systemFileSystem,
    open: (path, ...rest) =>
      /[:?]/.test(String(path))
        ? Promise.reject(Object.assign(new Error('ENOENT: no such file or directory'), { code: 'ENOENT' }))
        : systemFileSystem.open(path, ...rest),
  }
  const host = await startHostFor(context, {
    files,
    plugins: [
      {
        id: 'curious',
        lua: 'Plugin:new("curious")',
        manifest: { docs: ['docs/what now?.md'] },
        files: { 'docs/what now?.md': '# Now' },
      },
    ],
  })
  const { status, body } = await host.request('POST', '/api/plugins/install', {
    body: { fullId: '@fixtures/curious' },
  })
  const { code, detail } = body as { code: string; detail: string }
  assert.deepEqual([status, code], [422, 'manifest_invalid'])
  assert.match(detail, /names files that cannot be stored here \(ENOENT\)/)
})
