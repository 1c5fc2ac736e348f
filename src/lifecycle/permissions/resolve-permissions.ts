import { isFilter } from '../../base/topic-filter.ts'
import type { PermissionEntry, Permissions } from '../../schema/permissions.ts'
import type { Config } from '../../schema/plugin.ts'
import { withRoot } from '../../schema/topic-rights.ts'
import { hostKey } from './host-pattern.ts'

/** Puts what the owner has configured in the place of `${config.<key>}`. Pure. */

/** Permissions without placeholders and without gaps. */
export interface ResolvedPermissions {
  hosts: string[]
  publish: string[]
  subscribe: string[]
  plugins: string[]
}

const placeholder = /\$\{config\.([^{}/]+)\}/g

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
  const { hosts = [], mqtt = {}, plugins = [] } = permissions
  return {
    hosts: unique(hosts.flatMap((host) => resolveHost(host, config))),
    publish: filters(mqtt.publish),
    subscribe: filters(mqtt.subscribe),
    plugins: unique(plugins),
  }
}

/** What one line of a list comes to; nothing while what it names is not configured. */
export function resolveEntry({ kind, value }: PermissionEntry, config: Config): string[] {
  if (kind === 'host') return resolveHost(value, config)
  return kind === 'publish' || kind === 'subscribe' ? resolveFilter(value, config) : [value]
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)]
}

function valueOf(config: Config, key: string): unknown {
  return Object.hasOwn(config, key) ? config[key] : undefined
}

function resolveHost(pattern: string, config: Config): string[] {
  const [, key] = /^\$\{config\.([^{}/]+)\}$/.exec(pattern) ?? []
  return key === undefined ? [pattern] : hostsIn(valueOf(config, key))
}

/** Every address in a text, wherever it stands; several a line, or a line each. */
const address = /https?:\/\/([^\s/?#\\"'<>|,;]+)/gi
const plainHost = /^(\[[0-9a-fA-F:.]+\]|[^\s/*:$[\]@?#{}\\%,;]+)(:\d{1,5})?$/
const plainIPv6 = /^[0-9a-fA-F]*:[0-9a-fA-F.]*:[0-9a-fA-F:.]*$/

/** The hosts of all addresses in a configured value, or the host that it is; any port of theirs. */
export function hostsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(hostsIn)
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(hostsIn)
  if (typeof value !== 'string') return []
  const text = value.trim()
  const addresses = [...text.matchAll(address)].flatMap(([, authority = '']) => {
    const [host] = hostOf(authority.slice(authority.lastIndexOf('@') + 1))
    return host === undefined ? [] : [host]
  })
  return addresses.length > 0 || text.includes('://') ? addresses : hostOf(text)
}

/** As a pattern: an IPv6 address in brackets. */
function hostOf(text: string): string[] {
  const host = plainIPv6.test(text) ? text : plainHost.exec(text)?.[1]
  if (host === undefined) return []
  const key = hostKey(host)
  return [key.includes(':') ? `[${key}]` : key]
}

/** None when something is not configured: what it would be then is nobody's wish. */
function resolveFilter(pattern: string, config: Config): string[] {
  const missing = [...pattern.matchAll(placeholder)].some(([, key = '']) => !isUsable(valueOf(config, key)))
  if (missing) return []
  const filter = pattern.replace(placeholder, (_, key: string) => String(valueOf(config, key)))
  return isFilter(filter) ? [filter] : []
}

function isUsable(value: unknown): boolean {
  return (typeof value === 'string' && value !== '') || typeof value === 'number'
}
