import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/**
 * Node-RED as a rival, in a process of its own: a flow that waits for a number on a topic of a broker, emits as many
 * events in one go from a function, and publishes them. It is no dependency: who wants the comparison installs it.
 */
export interface NodeRed {
  close(): Promise<void>
}

/** Where Node-RED is installed, as a folder for npm: see `docs/performance.md`. */
const variable = 'LUPINE_BENCH_NODE_RED'

/** Milliseconds that its start may take. */
const patience = 60_000

/** The program, from the folder that the variable names or from the path; undefined when it is not installed. */
export function findNodeRed(): string | undefined {
  const folder = process.env[variable]
  const candidates = [
    ...(folder === undefined ? [] : [join(folder, 'node_modules', '.bin')]),
    ...(process.env.PATH ?? '').split(delimiter),
  ].map((each) => join(each, 'node-red'))
  return candidates.find(existsSync)
}

/** `go`: the topic on which it hears how many to emit; `topic`: where it publishes them. */
function flow(port: string, go: string, topic: string): object[] {
  const emit = `for (let n = 1; n <= Number(msg.payload); n += 1) node.send({ topic: '${topic}', payload: { n, value: 21.5 } })`
  return [
    { id: 'bench', type: 'tab', label: 'bench' },
    {
      ...{ id: 'broker', type: 'mqtt-broker', broker: '127.0.0.1', port, clientid: '', protocolVersion: '4' },
      ...{ autoConnect: true, keepalive: '60', cleansession: true, usetls: false },
    },
    {
      ...{ id: 'in', type: 'mqtt in', z: 'bench', topic: go, qos: '0', datatype: 'utf8', broker: 'broker' },
      wires: [['emit']],
    },
    { id: 'emit', type: 'function', z: 'bench', func: emit, outputs: 1, wires: [['out']] },
    {
      id: 'out',
      type: 'mqtt out',
      z: 'bench',
      topic: '',
      qos: '0',
      retain: 'false',
      broker: 'broker',
      wires: [],
    },
  ]
}

async function connected(child: ChildProcess): Promise<void> {
  let output = ''
  const late = AbortSignal.timeout(patience)
  for (;;) {
    const [chunk] = (await once(child.stdout ?? child, 'data', { signal: late })) as [Buffer]
    output += chunk.toString()
    if (output.includes('Connected to broker')) return
  }
}

export async function startNodeRed(
  program: string,
  port: string,
  go: string,
  topic: string,
): Promise<NodeRed> {
  const directory = await mkdtemp(join(tmpdir(), 'lupine-node-red-'))
  // No editor and no other nodes than its own; port 0, though nothing listens on it.
  const settings = {
    uiPort: 0,
    uiHost: '127.0.0.1',
    httpAdminRoot: false,
    httpNodeRoot: false,
    telemetry: { enabled: false },
  }
  await writeFile(join(directory, 'settings.js'), `module.exports = ${JSON.stringify(settings)}\n`)
  await writeFile(join(directory, 'flows.json'), JSON.stringify(flow(port, go, topic)))
  const options = ['--userDir', directory, '--settings', join(directory, 'settings.js'), 'flows.json']
  const child = spawn(program, options, { stdio: ['ignore', 'pipe', 'ignore'] })
  const exited = once(child, 'exit')
  const close = async (): Promise<void> => {
    child.kill()
    await exited
    await rm(directory, { recursive: true, force: true })
  }
  try {
    await connected(child)
  } catch (error) {
    await close()
    throw error
  }
  return { close }
}
