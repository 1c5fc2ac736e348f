import { isFilter } from '../../base/topic-filter.ts'
import {
  entriesLength,
  entryLimit,
  onlyReference,
  valuesAt,
  withReferences,
} from '../../schema/manifest/config-references.ts'
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
    listed(patterns, (pattern, most) => resolveFilter(withRoot(root, pattern), config, most))
  const { hosts = [], mqtt = {}, plugins = [], serial = [], discovery = [] } = permissions
  return {
    hosts: listed(hosts, (host, most) => resolveHost(host, config, most)),
    publish: filters(mqtt.publish),
    subscribe: filters(mqtt.subscribe),
    plugins: listed(plugins, (plugin, most) => resolvePlugin(plugin, config, most)),
    serial: listed(serial, (path, most) => resolveName(path, config, most)),
    discovery: listed(discovery, (service, most) => resolveName(service, config, most)),
  }
}

/** What all lines of a list come to; those for which there is no room any more come to nothing. */
function listed(lines: readonly string[], resolve: (line: string, most: number) => string[]): string[] {
  const entries: string[] = []
  let length = 0
  for (const line of lines) {
    const made = resolve(line, length > entriesLength ? 0 : entryLimit - entries.length)
    length += made.reduce((sum, entry) => sum + entry.length, 0)
    entries.push(...made)
  }
  return unique(entries)
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

function resolveHost(pattern: string, config: Config, most = entryLimit): string[] {
  const path = onlyReference(pattern)
  return path === undefined ? [pattern] : upTo(most, hostsIn(valuesAt(config, path)))
}

function resolvePlugin(pattern: string, config: Config, most = entryLimit): string[] {
  const path = onlyReference(pattern)
  return path === undefined ? [pattern] : upTo(most, valuesAt(config, path).flatMap(pluginIn))
}

/** None at all of more, as of what `withReferences` makes. */
const upTo = (most: number, entries: string[]): string[] => (entries.length > most ? [] : entries)

/** What is configured is one thing, and never all there are. */
function resolveName(pattern: string, config: Config, most?: number): string[] {
  return pattern.includes('${config.')
    ? withReferences(pattern, config, most).filter((name) => name !== '*')
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

function resolveFilter(pattern: string, config: Config, most?: number): string[] {
  return withReferences(pattern, config, most).filter(isFilter)
}
