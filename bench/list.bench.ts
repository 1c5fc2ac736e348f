import { report, type Round } from './figure.ts'
import { createKeepAliveClient } from './keep-alive-client.ts'
import { manyPlugins } from './many-plugins.ts'
import { startChild } from './peers/child.ts'

// The list of 50 plugins over HTTP, of Koa that answers the same bytes, by the same client on as many connections.

const rounds = 9
const requests = 2_000
const connections = 8

const found: Round[] = []
const host = await manyPlugins(50)
const bare = startChild('bare-koa.ts')
await host.start('shared', async (http) => {
  const page = new URL('/api/plugins', http)
  bare.send({ body: await (await fetch(page)).text() })
  const { port } = await bare.says<{ port: number }>('port')
  const ours = createKeepAliveClient(page, connections)
  const theirs = createKeepAliveClient(new URL(`http://127.0.0.1:${port}/api/plugins`), connections)
  await ours.rate(requests)
  await theirs.rate(requests)
  for (let round = 0; round < rounds; round += 1)
    found.push({ value: await ours.rate(requests), floor: await theirs.rate(requests) })
  for (const client of [ours, theirs]) client.close()
})
bare.end()
await host.close()
report(import.meta.filename, [
  {
    name: '`GET /api/plugins` with 50, of bare Koa with the same bytes',
    unit: '/s',
    wanted: '≥ 0.7',
    rounds: found,
  },
])
