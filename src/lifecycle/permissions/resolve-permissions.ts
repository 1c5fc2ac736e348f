import { isFilter } from '../../base/topic-filter.ts'
import { onlyReference, valuesAt, withReferences } from '../../schema/manifest/config-references.ts'
import type { PermissionEntry, Permissions } from '../../schema/manifest/permissions.ts'
import type { Config } from '../../schema/plugin/plugin.ts'
import { withRoot } from '../../schema/manifest/topic-rights.ts'
import { hostKey } from './host-pattern.ts'

/** Puts what the owner has configured in the place of `${config.…}`. Pure. */

/** Permissions without placeholders and without gaps. */
export interface ResolvedPermissions {
  hosts: string[]
  publish: string[]
  subscribe: string[]
  plugins: string[]
  serial: string[]
  discovery: string[]
}

/**
 * `config` is the effective one: with defaults, and with what the environment gives. `root`: what `host/` of a manifest
 * is called on this host.
 */
export function resolvePermissions(
  permissions: Permissions,
  config: Config,
  root: string,
): ResolvedPermissions {
  const filters = (patterns: readonly string[] = []): string[] =>
    unique(patterns.flatMap((pattern) => resolveFilter(withRoot(root, pattern), config)))
  const { hosts = [], mqtt = {}, plugins = [], serial = [], discovery = [] } = permissions
  return {
    hosts: unique(hosts.flatMap((host) => resolveHost(host, config))),
    publish: filters(mqtt.publish),
    subscribe: filters(mqtt.subscribe),
    plugins: unique(plugins.flatMap((plugin) => resolvePlugin(plugin, config))),
    serial: unique(serial.flatMap((path) => resolveName(path, config))),
    discovery: unique(discovery.flatMap((service) => resolveName(service, config))),
  }
}

/** What one line of a list comes to; nothing while what it names is not configured. */
export function resolveEntry({ kind, value }: PermissionEntry, config: Config): string[] {
  if (kind === 'host') return resolveHost(value, config)
  if (kind === 'plugin') return resolvePlugin(value, config)
  if (kind === 'serial' || kind === 'discovery') return resolveName(value, config)
  return kind === 'publish' || kind === 'subscribe' ? resolveFilter(value, config) : [value]
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)]
}

function resolveHost(pattern: string, config: Config): string[] {
  const path = onlyReference(pattern)
  return path === undefined ? [pattern] : hostsIn(valuesAt(config, path))
}

function resolvePlugin(pattern: string, config: Config): string[] {
  const path = onlyReference(pattern)
  return path === undefined ? [pattern] : valuesAt(config, path).flatMap(pluginIn)
}

/** What is configured is one thing, and never all there are. */
function resolveName(pattern: string, config: Config): string[] {
  return pattern.includes('${config.')
    ? withReferences(pattern, config).filter((name) => name !== '*')
    : [pattern]
}

const part = '[a-z0-9][a-z0-9._-]{0,63}'
/** A full id, alone or in front of what is that plugin's: `@ns/id:path`, `@ns/id/sensor`. */
const pluginOf = new RegExp(`^(@${part}/${part})(?:[/:].*)?$`, 's')
/** The way to an object; of several plugins whose id may be meant the one with the shortest. */
const pluginOfObject = /^plugins\.([a-z0-9][a-z0-9_-]{0,63})\.([a-z0-9][a-z0-9_-]{0,63})(?:\..*)?$/s

function pluginIn(value: unknown): string[] {
  if (typeof value !== 'string') return []
  const [, id] = pluginOf.exec(value) ?? []
  if (id !== undefined) return [id]
  const [, namespace, shortId] = pluginOfObject.exec(value) ?? []
  return namespace === undefined || shortId === undefined ? [] : [`@${namespace}/${shortId}`]
}

/** Every address in a text, wherever it stands; several a line, or a line each. */
const address = /(?:https?|wss?):\/\/([^\s/?#\\"'<>|,;]+)/gi
const plainHost = /^(\[[0-9a-fA-F:.]+\]|[^\s/*:$[\]@?#{}\\%,;]+)(:\d{1,5})?$/
const plainIPv6 = /^[0-9a-fA-F]*:[0-9a-fA-F.]*:[0-9a-fA-F:.]*$/

/** The hosts of all addresses in a configured value, or the host that it is; any port of theirs. */
export function hostsIn(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(hostsIn)
  if (typeof value !== 'string') return []
  const text = value.trim()
  const addresses = [...text.matchAll(address)].flatMap(([, authority = '']) => {
    const [host] = hostOf(authority.slice(authority.lastIndexOf('@') + 1))
    return host === undefined ? [] : [host]
  })
  return text.includes('://') ? addresses : hostOf(text)
}

/** As a pattern: an IPv6 address in brackets. */
function hostOf(text: string): string[] {
  const host = plainIPv6.test(text) ? text : plainHost.exec(text)?.[1]
  if (host === undefined) return []
  const key = hostKey(host)
  return [key.includes(':') ? `[${key}]` : key]
}

function resolveFilter(pattern: string, config: Config): string[] {
  return withReferences(pattern, config).filter(isFilter)
}
