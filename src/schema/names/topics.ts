import { parseFullId } from './identifier.ts'

/** Every topic of the contract's section 4, as pure functions. */

/** What separates levels, is a wildcard, introduces an escape, or is a control character. */
const unsafe = /[+#/%\p{Cc}]|\p{Surrogate}/gu

const hexadecimal = (byte: number): string => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`

function percentEncode(character: string): string {
  const code = character.charCodeAt(0)
  // A lone surrogate has no UTF-8; its three bytes in the same scheme keep different names different.
  if (code >= 0xd800 && code <= 0xdfff) {
    return [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)].map(hexadecimal).join('')
  }
  return [...Buffer.from(character)].map(hexadecimal).join('')
}

/** One topic level for any text; different texts give different levels. */
export function encodeLevel(text: string): string {
  return text.replace(unsafe, percentEncode)
}

/** The text of a level that `encodeLevel` made; undefined when it could not have made it. */
export function decodeLevel(level: string): string | undefined {
  try {
    const text = level.includes('%') ? decodeURIComponent(level) : level
    return encodeLevel(text) === level ? text : undefined
  } catch {
    return undefined
  }
}

/** What all topics of a plugin begin with; `plugin` is its full id. */
export function pluginTopic(root: string, plugin: string): string {
  return `${root}/plugins/${plugin}`
}

export type Topics = ReturnType<typeof createTopics>

/** `root` is `HOST_MQTT_ROOT`; plugins are named by full id, `@namespace/shortId`. */
export function createTopics(root: string) {
  const pluginsPrefix = `${root}/plugins/`
  const requestPrefix = `${root}/request/`
  const ofPlugin = (plugin: string): string => pluginTopic(root, plugin)

  function parsePlugin(topic: string): { plugin: string; rest: string } | undefined {
    if (!topic.startsWith(pluginsPrefix)) return undefined
    const [namespace, shortId, ...rest] = topic.slice(pluginsPrefix.length).split('/')
    const plugin = parseFullId(`${namespace}/${shortId}`)
    return plugin === undefined ? undefined : { plugin: plugin.fullId, rest: rest.join('/') }
  }

  return {
    status: `${root}/status`,
    safeMode: `${root}/safe-mode`,
    lifecycle: `${root}/lifecycle`,
    state: (plugin: string) => `${ofPlugin(plugin)}/state`,
    event: (plugin: string, name: string) => `${ofPlugin(plugin)}/events/${encodeLevel(name)}`,
    object: (plugin: string, path: string) => `${ofPlugin(plugin)}/objects/${encodeLevel(path)}`,
    sensor: (plugin: string, id: string) => `${ofPlugin(plugin)}/sensors/${encodeLevel(id)}`,
    control: (plugin: string, id: string) => `${ofPlugin(plugin)}/controls/${encodeLevel(id)}`,
    controlSet: (plugin: string, id: string) => `${ofPlugin(plugin)}/controls/${encodeLevel(id)}/set`,
    exposed: (plugin: string, id: string) => `${ofPlugin(plugin)}/exposed/${encodeLevel(id)}`,
    exposedSet: (plugin: string, id: string, feature: string) =>
      `${ofPlugin(plugin)}/exposed/${encodeLevel(id)}/${encodeLevel(feature)}/set`,
    log: (plugin: string) => `${ofPlugin(plugin)}/log`,
    request: (verb: string) => `${requestPrefix}${verb}`,
    response: (verb: string) => `${root}/response/${verb}`,

    /** Published by a look at what is retained, after all that it wants to see: below `R/plugins/`, and no plugin's. */
    lookEnd: `${pluginsPrefix}look`,

    /** Filters for what the host listens to. */
    allControlSets: `${pluginsPrefix}+/+/controls/+/set`,
    allExposedSets: `${pluginsPrefix}+/+/exposed/+/+/set`,
    allRequests: `${requestPrefix}+`,
    /**
     * All below `R/plugins/`, for a look at what is retained. Not `R/plugins/#`: plugins may have subscribed to just that with another
     * QoS, and for a broker the host's subscriptions with one filter are one.
     */
    allPlugins: `${pluginsPrefix}+/#`,

    /** The plugin of any topic below `R/plugins/`, and the rest of the topic. */
    parsePlugin,

    /** The plugin and the control of `P/controls/<id>/set`; undefined for every other topic. */
    parseControlSet(topic: string): { plugin: string; control: string } | undefined {
      const parsed = parsePlugin(topic)
      if (parsed === undefined) return undefined
      const [kind, level, action, ...more] = parsed.rest.split('/')
      if (kind !== 'controls' || level === undefined || action !== 'set' || more.length > 0) return undefined
      const control = decodeLevel(level)
      return control === undefined || control === '' ? undefined : { plugin: parsed.plugin, control }
    },

    /** What `P/exposed/<id>/<feature>/set` is about; undefined for every other topic. */
    parseExposedSet(topic: string): { plugin: string; exposure: string; feature: string } | undefined {
      const parsed = parsePlugin(topic)
      if (parsed === undefined) return undefined
      const [kind, first, second, action, ...more] = parsed.rest.split('/')
      if (kind !== 'exposed' || first === undefined || second === undefined) return undefined
      if (action !== 'set' || more.length > 0) return undefined
      const exposure = decodeLevel(first)
      const feature = decodeLevel(second)
      return exposure && feature ? { plugin: parsed.plugin, exposure, feature } : undefined
    },

    /** The verb of `R/request/<verb>`; undefined for every other topic. */
    parseRequest(topic: string): string | undefined {
      if (!topic.startsWith(requestPrefix)) return undefined
      const verb = topic.slice(requestPrefix.length)
      return verb === '' || verb.includes('/') ? undefined : verb
    },
  }
}

/** What Home Assistant takes in a node id. */
const outsideNode = /[^A-Za-z0-9_-]/g

/** A plugin to Home Assistant, whose node ids take nothing but letters, digits, `_` and `-`. */
export function discoveryNode(host: string, plugin: { namespace: string; shortId: string }): string {
  return `${host}_${plugin.namespace}_${plugin.shortId}`.replace(outsideNode, '_')
}

/** Whether a topic is one on which this host announces its plugins to Home Assistant, whichever there are. */
export function isDiscoveryTopicOf(prefix: string, host: string, topic: string): boolean {
  const start = `${prefix}/device/${host.replace(outsideNode, '_')}_`
  return topic.startsWith(start) && topic.endsWith('/config')
}

/** Home Assistant's device discovery; `device`: of those that the plugin bridges. */
export function discoveryTopic(
  prefix: string,
  host: string,
  plugin: { namespace: string; shortId: string },
  device?: string,
): string {
  const node = discoveryNode(host, plugin)
  return `${prefix}/device/${device === undefined ? node : `${node}_${device}`}/config`
}
