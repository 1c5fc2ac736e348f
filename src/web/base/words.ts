import { jsonText } from '../../base/text/json.ts'

/** What the host says in names, in plain words. */

/** Of plugins, and of the host. */
const stateWords: Readonly<Record<string, string>> = {
  notInstalled: 'Not installed',
  installing: 'Installing…',
  installed: 'Installed, off',
  loading: 'Starting…',
  running: 'Running',
  unloading: 'Stopping…',
  unloaded: 'Off',
  failed: 'Failed',
  uninstalled: 'Uninstalled',
  starting: 'Starting…',
  ready: 'Ready',
  stopping: 'Stopping…',
  stale: 'As last known',
  stopped: 'Stopped',
}

export function stateInWords(state: string): string {
  return stateWords[state] ?? state
}

type Tone = 'good' | 'bad' | 'busy' | 'quiet'

export function toneOf(state: string): Tone {
  if (state === 'running' || state === 'ready') return 'good'
  if (state === 'failed') return 'bad'
  return /ing$/.test(state) ? 'busy' : 'quiet'
}

const originWords: Readonly<Record<string, string>> = {
  http: 'over HTTP or this page',
  mqtt: 'over MQTT',
  startup: 'at the start of the host',
  shutdown: 'at the end of the host',
  supervisor: 'by the host itself',
  file: 'by an edit of the host file',
}

export function originInWords(by: string): string {
  return originWords[by] ?? by
}

const eventWords: Readonly<Record<string, string>> = {
  PluginInstallRequested: 'Installation asked for',
  PluginInstallFailed: 'Installation failed',
  PluginInstalled: 'Installed',
  PluginEnabled: 'Switched on',
  PluginDisabled: 'Switched off',
  PluginConfigured: 'Settings saved',
  PluginLimitsChanged: 'Limits changed',
  PluginHookSecretChanged: 'New secret for its addresses',
  PluginLimitReached: 'Reached a limit',
  PluginLoadRequested: 'Start asked for',
  PluginLoaded: 'Started',
  PluginLoadFailed: 'Could not start',
  PluginUnloadRequested: 'Stop asked for',
  PluginUnloaded: 'Stopped',
  PluginCrashed: 'Crashed',
  PluginUpdated: 'Updated',
  PluginRolledBack: 'Went back to the version before',
  PluginFilesRestored: 'Missing files restored',
  PluginVersionConfirmed: 'Found up to date',
  PluginUninstalled: 'Uninstalled',
  PluginStabilized: 'Has run long enough to count as stable',
  HostSafeModeEntered: 'Safe mode begun',
  HostSafeModeLeft: 'Safe mode ended',
  PluginMoved: 'Taken by a host',
  PluginPlaced: 'Told where it may run',
  HostJoined: 'Host joined the fleet',
  HostDrainRequested: 'Drain of a host begun',
  HostDrainEnded: 'Drain of a host ended',
  HostStarted: 'Host started',
  HostReady: 'Host ready',
  HostStopping: 'Host is stopping',
  HostStopped: 'Host stopped',
  RepositoryAdded: 'Repository added',
  RepositoryIndexAccepted: 'Newer signed index of a repository',
  RepositoryRemoved: 'Repository removed',
  NamespaceClaimed: 'Namespace belongs to a repository',
}

export function eventInWords(type: string): string {
  return eventWords[type] ?? type
}

/** Made once: a formatter is far dearer than what it does. With `hour12: false` some languages call midnight 24 o'clock. */
const timeFormat = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' })
const dateTimeFormat = new Intl.DateTimeFormat(undefined, {
  dateStyle: 'medium',
  timeStyle: 'medium',
  hourCycle: 'h23',
})

/** For sorting what people read: room 2 before room 10. Made once, too: hundreds of names are sorted whenever one changes. */
export const compareText = new Intl.Collator(undefined, { numeric: true }).compare

/** `at`: ISO 8601, or milliseconds since 1970. */
export function timeOf(at: string | number): string {
  return timeFormat.format(new Date(at))
}

/** Of a line among others: one that is not from today says the day. */
export function momentOf(at: string | number): string {
  const isToday = new Date(at).toDateString() === new Date().toDateString()
  return isToday ? timeOf(at) : dateTimeOf(at)
}

export function dateTimeOf(at: string | number): string {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return '–'
  return dateTimeFormat.format(date)
}

/** How long something waits, in milliseconds: a second or two, or hours. */
export function waitInWords(wait: number): string {
  const seconds = wait / 1_000
  const minutes = seconds / 60
  if (minutes < 2) return `${seconds.toFixed(1)} seconds`
  return minutes < 120 ? `${Math.round(minutes)} minutes` : `${(minutes / 60).toFixed(1)} hours`
}

/** A value as one line of text. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return '–'
  return typeof value === 'string' ? value : jsonText(value)
}

/** Digits of a fraction that tell somebody something: 0.1 + 0.2 is 0.30000000000000004 to a computer. */
const readableDigits = 10
/** A value that somebody reads, as of a sensor. */
export function readableText(value: unknown): string {
  const isFraction = typeof value === 'number' && !Number.isInteger(value)
  return valueText(isFraction ? Number(value.toPrecision(readableDigits)) : value)
}

/** What an input shows of a value: nothing is an empty one. */
export function inputText(value: unknown): string {
  return value === null || value === undefined ? '' : valueText(value)
}

export function countOf(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}
