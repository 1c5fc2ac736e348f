import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectAsync, type MqttClient } from 'mqtt'
import { writeFixtureRepository } from '../test/helpers/fixture-repository.ts'
import { startHostProcess } from '../test/helpers/host-process.ts'

/** Milliseconds that a message may take. */
const patience = 60_000

/** A built host in a process of its own, with plugins that run. */
export interface HostStage {
  /** Address of the HTTP API. */
  http: string
  /** Port of the broker. */
  port: string
  client: MqttClient
  /** Asks the HTTP API with `POST`. Throws what it refuses. */
  post(path: string, body: object): Promise<void>
  /** Subscribes; `message` is the next one on this topic. It rejects when there is none for a minute. */
  next(topic: string): Promise<{ message: Promise<string> }>
  close(): Promise<void>
}

/** `plugins`: what follows `local plugin = Plugin:new(id)`, by id. */
export async function startHostStage(
  plugins: Record<string, string>,
  environment: Record<string, string> = {},
): Promise<HostStage> {
  const directory = await mkdtemp(join(tmpdir(), 'lupine-bench-'))
  const folder = join(directory, 'repository')
  const all = Object.entries(plugins).map(([id, lua]) => ({
    id,
    lua: `local plugin = Plugin:new("${id}")\n${lua}`,
  }))
  await writeFixtureRepository(folder, all, 'bench')
  const host = await startHostProcess(join(directory, 'data'), { environment })
  const post = async (path: string, body: object): Promise<void> => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(new URL(path, host.http), {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
  }
  await post('/api/repositories', { name: 'bench', url: folder })
  for (const { id } of all) {
    await post('/api/plugins/install', { fullId: `@bench/${id}` })
    await post(`/api/plugins/@bench/${id}/toggle`, { enabled: true })
  }
  const client = await connectAsync(host.mqtt)
  return {
    http: host.http,
    port: new URL(host.mqtt).port,
    client,
    post,
    async next(topic) {
      await client.subscribeAsync(topic)
      const message = new Promise<string>((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`nothing came on ${topic}`)), patience)
        const listener = (name: string, payload: Buffer): void => {
          if (name !== topic) return
          clearTimeout(late)
          client.off('message', listener)
          resolve(payload.toString())
        }
        client.on('message', listener)
      })
      return { message }
    },
    async close() {
      client.end(true)
      await host.stop('SIGTERM')
      await rm(directory, { recursive: true, force: true })
    },
  }
}
