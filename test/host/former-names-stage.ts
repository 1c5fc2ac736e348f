import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { decodeLine } from '../../src/journal/lines/journal-line.ts'
import { parseNamesFile } from '../../src/schema/files/names-file.ts'
import type { Settings } from '../../src/settings/settings.ts'
import { collect, connect, createRecordingLogger } from '../bus/bus-fixture.ts'
import { endLatestFirst } from '../helpers/end-latest-first.ts'
import { openTestHost, startTestHost, type TestHost, type TestHostOptions } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'

/** Hosts that get other names, and what then stands at a broker. */

/** Retains something of every kind, and a message of its own elsewhere. */
const home = {
  id: 'home',
  lua: `
local plugin = Plugin:new("home")
local lamp = { state = false, get = function(self, feature) return self[feature] end }
function lamp:set(feature, value) self[feature] = value end
plugin:onInit(function()
  plugin:upsertObject("room", { warm = true })
  local level = plugin:control("level", function() return 3 end, function() end)
  expose(lamp, "switch", { id = "lamp", name = "Lamp" })
  expose(plugin:sensor("warm", function() return 20.5 end), "temperature", { device = { id = "stove" } })
  plugin:emit("home:seen", { at = "door" }, { retain = true, qos = 1 })
  plugin:mqttPublish("elsewhere/home", "1", { retain = true, qos = 1 })
end)
`,
}

export type Names = Pick<Settings, 'hostId' | 'mqttRoot' | 'discoveryPrefix'>
export const first: Names = { hostId: 'first', mqttRoot: 'one', discoveryPrefix: 'ha' }

export const second: Names = { hostId: 'second', mqttRoot: 'two', discoveryPrefix: 'homeassistant' }
export const third: Names = { ...second, mqttRoot: 'three' }
/** Where the plugin retains what is its own. */
export const elsewhere = 'elsewhere/home'

/** What the plugin and its host retain under these names, sorted. */
export function topicsUnder({ hostId = '', mqttRoot, discoveryPrefix }: Names): string[] {
  const plugin = `${mqttRoot}/plugins/@fixtures/home`
  const exposed = 'exposed/lamp exposed/lamp/availability exposed/warm exposed/warm/availability'
  const rest = `controls/level events/home:seen ${exposed} objects/room sensors/warm state`
  const device = `${discoveryPrefix}/device/${hostId}_fixtures_home`
  return [
    ...(discoveryPrefix === '' ? [] : [`${device}/config`, `${device}_stove/config`]),
    ...rest.split(' ').map((topic) => `${plugin}/${topic}`),
    `${mqttRoot}/status`,
  ].sort()
}

/** What of it is left when the host has ended in order: values go when a plugin is unloaded. */
export function leftUnder(names: Names): string[] {
  return topicsUnder(names).filter((topic) => !/\/(controls|exposed|objects|sensors)\//.test(topic))
}

/** A host with the plugin, which runs. */
export async function startHome(
  context: TestContext,
  settings: Partial<Settings>,
  options: Omit<TestHostOptions, 'settings' | 'plugins'> = {},
): Promise<TestHost> {
  const host = await startTestHost({ ...options, plugins: [home], settings })
  endLatestFirst(context, () => host.close())
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/home' } })
  const { body } = await host.request('POST', '/api/plugins/home/toggle', { body: { enabled: true } })
  if (body.state !== 'running') throw new Error(JSON.stringify(body.error))
  return host
}

/** Has a host run under the first names; answers its directory. */
export async function leaveHome(context: TestContext, mqttUrl: string): Promise<string> {
  const host = await startHome(context, { ...first, mqttUrl })
  await untilRetained(context, mqttUrl, [...topicsUnder(first), elsewhere])
  await host.host.close()
  return host.directory
}

/** Starts a host in a directory that is there; answers it with what it logs. */
export async function open(
  context: TestContext,
  directory: string,
  settings: Partial<Settings>,
  options: Omit<TestHostOptions, 'settings'> = {},
) {
  const logger = createRecordingLogger()
  const repository = join(directory, '..', 'repository')
  const host = await openTestHost(directory, repository, { logger, ...options, settings })
  endLatestFirst(context, () => host.close())
  /** Without the one of every test host, which has no token. */
  const warnings = (): string[] =>
    logger.lines.flatMap(({ level, message }) =>
      level === 'warn' && !message.startsWith('There is no token') ? message : [],
    )
  return { host, warnings, lines: logger.lines }
}

/** The topics on which something is retained, sorted. */
export async function retainedAt(context: TestContext, url: string): Promise<string[]> {
  const client = await connect(context, url)
  const received = collect(client)
  // A broker drops what exceeds its queue for a subscriber who acknowledges.
  await client.subscribeAsync('#', { qos: 0 })
  // The built-in broker sends them one by one, beside what is published.
  for (let [before, same] = [-1, 0]; same < 3;) {
    const mark = `mark/${Math.random()}`
    await client.publishAsync(mark, 'x', { qos: 1 })
    while (!received.all.some(({ topic }) => topic === mark)) await received.take(received.all.length + 1)
    const found = received.all.filter(({ retain }) => retain).length
    same = found === before ? same + 1 : 0
    before = found
  }
  await client.endAsync()
  return received.all.flatMap(({ topic, retain }) => (retain ? topic : [])).sort()
}

/** Waits until exactly this is retained. */
export function untilRetained(context: TestContext, url: string, wanted: readonly string[]): Promise<true> {
  const text = [...wanted].sort().join('\n')
  let last = ''
  return until(
    'what is to be retained',
    async () => {
      last = (await retainedAt(context, url)).join('\n')
      return last === text
    },
    20_000,
  ).catch((error: unknown) => {
    throw new Error(`retained is\n${last}\nand not\n${text}`, { cause: error })
  })
}

/** What the directory remembers; undefined: nothing. */
export async function rememberedIn(directory: string) {
  const bytes = await readFile(join(directory, '.host.names')).catch(() => undefined)
  const line = bytes && decodeLine(bytes.subarray(0, -1))
  const parsed = line?.ok === true ? parseNamesFile(line.value) : undefined
  return parsed?.ok === true ? parsed.value : undefined
}
