import { createServer } from 'node:http'
import type { TestContext } from 'node:test'
import mqtt from 'mqtt'
import { listen } from '../../../helpers/listen.ts'

/** What a counting plugin says of itself with each act. */
export interface Act {
  plugin: string
  host: string
  epoch: number
  n: number
}

/** Somebody outside who sees each act of the counting plugins, over MQTT and over HTTP, and holds them against the law. */
export interface Witness {
  /** Where the plugins send their requests. */
  readonly http: string
  /** Sentences about what must not be. */
  readonly breaches: string[]
  /** Acts that were seen over MQTT and over HTTP. */
  readonly counts: { mqtt: number; http: number }
  /** The last act of a plugin that was seen. */
  last(plugin: string): Act | undefined
}

/** Topics on which the plugins act: one level below. */
const topic = 'witness'

/** Acts of each plugin that a breach is told with: some two seconds of them. */
const actsKept = 24

export async function startWitness(context: TestContext, broker: string): Promise<Witness> {
  const seen = new Map<string, Act>()
  const owners = new Map<string, string>()
  const breaches: string[] = []
  const counts = { mqtt: 0, http: 0 }
  /** The last act of each plugin under each epoch. */
  const latestUnder = new Map<string, number>()
  /** Of these one act has come after the first of the next holder. */
  const late = new Set<string>()
  /** The last acts of each plugin, for whoever reads a breach. */
  const latest = new Map<string, string[]>()

  function look(act: Act, way: keyof typeof counts): void {
    const { plugin, host, epoch } = act
    counts[way] += 1
    const acts = latest.get(plugin) ?? []
    acts.push(`${host} ${epoch}.${act.n} ${way} at ${Math.round(performance.now())}`)
    latest.set(plugin, acts.slice(-actsKept))
    const known = seen.get(plugin)
    const tenure = `${plugin} ${epoch}`
    if (known !== undefined && epoch < known.epoch) {
      // One request that had begun when its host was paused arrives (docs/fleet.md, the law). No second one may, and no act that
      // was begun later.
      if (way === 'http' && !late.has(tenure) && act.n <= (latestUnder.get(tenure) ?? 0) + 1) {
        late.add(tenure)
        return
      }
      const after = `after ${known.host} under ${known.epoch}`
      breaches.push(
        `${host} acts as ${plugin} under epoch ${epoch} over ${way}, ${after}; last: ${acts.slice(-actsKept).join(', ')}`,
      )
      return
    }
    seen.set(plugin, act)
    latestUnder.set(tenure, act.n)
    const owner = owners.get(tenure) ?? host
    owners.set(tenure, owner)
    if (owner !== host)
      breaches.push(`${owner} and ${host} act as ${plugin} under epoch ${epoch} over ${way}`)
  }

  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://witness')
    look(JSON.parse(searchParams.get('act') ?? ''), 'http')
    response.end()
  })
  const port = await listen(server)
  const client = await mqtt.connectAsync(broker, { reconnectPeriod: 100 }, false)
  client.on('error', () => undefined)
  client.on('message', (_topic, payload) => look(JSON.parse(payload.toString()), 'mqtt'))
  await client.subscribeAsync(`${topic}/#`, { qos: 1 })
  context.after(async () => {
    await client.endAsync(true)
    server.closeAllConnections()
    server.close()
  })
  return {
    http: `http://127.0.0.1:${port}/`,
    ...{ breaches, counts },
    last: (plugin) => seen.get(plugin),
  }
}

/**
 * A plugin that publishes on each act, when it is loaded and ten times a second, and makes a request with each fifth one. Who
 * configures it without a pause has it loaded again and again, sooner than an interval is over.
 */
export function countingLua(id: string, witness: Witness): string {
  return `
local plugin = Plugin:new("${id}", {})
local n = 0
local function act()
  n = n + 1
  local act = plugin:jsonEncode({ plugin = plugin.id, host = plugin.host, epoch = plugin.epoch, n = n })
  plugin:mqttPublish("${topic}/${id}", act, { qos = n % 2 })
  if n % 5 == 0 then
    plugin:httpRequest({ url = plugin:url("${witness.http}", { act = act }) }, function() end)
  end
end
plugin:onInit(function()
  act()
  plugin:setInterval(100, act)
end)
return plugin
`
}
