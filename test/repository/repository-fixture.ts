import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { lstat, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { type LogFields, type Logger, silentLogger } from '../../src/base/log/log.ts'
import { Problem, type ProblemCode } from '../../src/base/problem.ts'
import { createRepositoryCatalog, type RepositoryCatalogOptions } from '../../src/repository/catalog.ts'
import { createPluginDirectory } from '../../src/repository/directories/plugin-directory.ts'
import type { PluginDirectory, RepositoryCatalog } from '../../src/repository/repository.ts'
import { identifierOf } from '../../src/schema/names/identifier.ts'
import { createManualClock, type ManualClock } from '../helpers/manual-clock.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

export const clockPlugin = identifierOf('@test/clock')

export const hash = (content: string): string => createHash('sha256').update(content).digest('hex')

export async function writeTree(root: string, tree: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(tree)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
}

/** Every file below a folder with its content, every link with its target, and every empty folder. */
export async function readTree(root: string, prefix = ''): Promise<Record<string, string>> {
  const tree: Record<string, string> = {}
  for (const name of (await readdir(root).catch(() => [])).sort()) {
    const path = join(root, name)
    const found = await lstat(path)
    if (found.isSymbolicLink()) tree[prefix + name] = `-> ${await readlink(path)}`
    else if (found.isFile()) tree[prefix + name] = await readFile(path, 'utf8')
    else Object.assign(tree, await readTree(path, `${prefix}${name}/`))
  }
  return tree
}

/** Files of a repository with the plugin `@test/clock`; `version` also shows in the Lua file. */
export function clockRepository(
  version = '1.0.0',
  {
    entry = {},
    manifest = {},
    files = {},
  }:
    | Record<'entry' | 'manifest' | 'files', object>
    | Partial<Record<'entry' | 'manifest' | 'files', object>> = {},
): Record<string, string> {
  return {
    'plugins.json': JSON.stringify({
      version: 1,
      name: 'Test plugins',
      namespace: 'test',
      plugins: [{ id: 'clock', name: 'Clock', version, path: 'clock', ...entry }],
    }),
    'clock/plugin.json': JSON.stringify({ id: 'clock', name: 'Clock', version, ...manifest }),
    'clock/init.lua': `-- clock ${version}`,
    ...files,
  }
}

export interface Stage {
  /** The data directory. */
  directory: string
  clock: ManualClock
  catalog: RepositoryCatalog
  plugins: PluginDirectory
  warnings: { message: string; fields: LogFields | undefined }[]
}

export async function createStage(
  context: TestContext,
  options: Partial<RepositoryCatalogOptions> = {},
): Promise<Stage> {
  const directory = await temporaryDirectory(context)
  const clock = createManualClock()
  const warnings: Stage['warnings'] = []
  const logger: Logger = {
    ...silentLogger,
    warn: (message, fields) => void warnings.push({ message, fields }),
  }
  const catalog = createRepositoryCatalog({ directory, clock, logger, hostVersion: '1.0.0', ...options })
  context.after(() => catalog.close())
  const plugins = createPluginDirectory({ directory, logger })
  return { directory, clock, catalog, plugins, warnings }
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

export interface WebServer {
  url: string
  /** Method, path and conditional headers of every request, in order. */
  requests: { path: string; headers: IncomingMessage['headers'] }[]
  handle: Handler
}

/** A web server of the test's own; what `handle` leaves open is cut off after the test. */
export async function startServer(
  context: TestContext,
  handle: Handler,
  host = '127.0.0.1',
): Promise<WebServer> {
  const server: WebServer = { url: '', requests: [], handle }
  const http = createServer((request, response) => {
    server.requests.push({ path: request.url ?? '', headers: request.headers })
    server.handle(request, response)
  })
  http.listen(0, host)
  await once(http, 'listening')
  context.after(async () => {
    http.closeAllConnections()
    await new Promise((resolve) => http.close(resolve))
  })
  server.url = `http://${host.includes(':') ? `[${host}]` : host}:${(http.address() as AddressInfo).port}/`
  return server
}

/** Serves files as a plain web server does. */
export const serve =
  (tree: Record<string, string>): Handler =>
  (request, response) => {
    const content = tree[decodeURIComponent((request.url ?? '').slice(1))]
    response.statusCode = content === undefined ? 404 : 200
    response.end(content ?? 'There is nothing here.')
  }

/** The problem that a promise rejects with. */
export async function problemOf(
  promise: Promise<unknown>,
): Promise<{ code: ProblemCode; message: string; errors: Problem['errors'] }> {
  try {
    await promise
  } catch (error) {
    if (error instanceof Problem) return { code: error.code, message: error.message, errors: error.errors }
    throw error
  }
  throw new Error('It should have been refused.')
}
