import { computed, signal } from '@preact/signals'
import { ApiError, get, needsToken, pluginApi, wordsOf } from '../base/api.ts'
import { absenceInWords } from '../base/fleet-words.ts'
import { onAnnouncements } from '../base/stream.ts'
import type { JournalEvent, Plugin, PluginState, PluginStateAt } from '../base/types.ts'
import { isInFleet } from './host.ts'
import { journal } from './journal.ts'
import type { Remote } from './remote.ts'

/** The installed plugins, kept up to date by the lifecycle events of the stream. */

/** From this many changed plugins on the whole list is read instead of each. */
const manyChanged = 4
/** How long changes are collected before plugins are read again, in milliseconds. */
const collectTime = 150
/** After how long what could not be read is asked for again, in milliseconds. */
const retryTime = 2_000

export const plugins = signal<ReadonlyMap<string, Plugin> | undefined>(undefined)
/** The same in a row; empty while nothing is known. */
export const pluginList = computed(() => [...(plugins.value?.values() ?? [])])
const pluginsError = signal('')

/** The plugin, if it is on and no host of the fleet has it at present: its journal does not tell. */
export function withoutHost(id: string): Plugin | undefined {
  const plugin = plugins.value?.get(id)
  return plugin === undefined || absenceInWords(plugin) === '' ? undefined : plugin
}

/** States that the journal tells of the present, as they are shown: those of plugins without a host are not in it. */
export function asShownNow(states: readonly PluginStateAt[]): PluginStateAt[] {
  return states.map((known) => {
    const { state, error } = withoutHost(known.id) ?? known
    return { ...known, state, error }
  })
}

/** In these there is nothing to read of a plugin. */
const absentStates: ReadonlySet<string> = new Set(['notInstalled', 'installing', 'uninstalled'])

/** How often the list is read again where there is a fleet, in milliseconds: that a host is gone is no fact of a plugin. */
const lookInterval = 5_000

const changed = new Set<string>()
let planned = false
let nextTry: ReturnType<typeof setTimeout> | undefined

/** Counts readings and what commands have brought about: what was asked for before says nothing of a plugin that was told of since. */
let turn = 0
/** When that was asked for which is known of a plugin, or when a command has answered how it is, or that it is gone. */
const told = new Map<string, number>()
/** When the list was asked for that is known. */
let listed = 0

function isToldSince(asked: number, id: string): boolean {
  return (told.get(id) ?? 0) > asked
}

/** Answers whether they could be read; if not, they are asked for again. */
export async function loadPlugins(): Promise<boolean> {
  clearTimeout(nextTry)
  const asked = (turn += 1)
  try {
    const answer = await get<{ plugins: Plugin[] }>('/api/plugins')
    // Somebody has asked later, and was answered sooner.
    if (asked < listed) return true
    listed = asked
    const later = [...(plugins.peek()?.values() ?? [])].filter(({ id }) => isToldSince(asked, id))
    const read = answer.plugins.filter(({ id }) => !isToldSince(asked, id))
    plugins.value = new Map([...read, ...later].map((plugin) => [plugin.id, plugin]))
    pluginsError.value = ''
    compareWithJournal()
    return true
  } catch (error) {
    pluginsError.value = wordsOf(error)
    clearTimeout(nextTry)
    // After a login all are read.
    if (!needsToken.peek()) nextTry = setTimeout(() => void loadPlugins(), retryTime)
    return false
  }
}

/** The plugins for whoever shows them: also why they could not be read. */
export function pluginsRemote(): Omit<Remote<ReadonlyMap<string, Plugin>>, 'set'> {
  return { value: plugins.value, error: pluginsError.value, reload: () => void loadPlugins() }
}

/** Takes over what a command has answered, before the stream tells of it. */
export function putPlugin(plugin: Plugin, asked = (turn += 1)): void {
  told.set(plugin.id, asked)
  plugins.value = new Map(plugins.peek() ?? []).set(plugin.id, plugin)
}

export function removePlugin(id: string): void {
  told.set(id, (turn += 1))
  const next = new Map(plugins.peek() ?? [])
  if (next.delete(id)) plugins.value = next
}

/** Answers whether it is known now how it is. */
export async function readPlugin(id: string): Promise<boolean> {
  const asked = (turn += 1)
  try {
    const plugin = await get<Plugin>(pluginApi(id))
    if (!isToldSince(asked, id)) putPlugin(plugin, asked)
    return true
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) return false
    if (!isToldSince(asked, id)) removePlugin(id)
    return true
  }
}

export function followPlugins(): void {
  setInterval(() => {
    if (isInFleet.peek() && !planned && document.visibilityState === 'visible') void loadPlugins()
  }, lookInterval)
  onAnnouncements({ kinds: ['lifecycle'] }, (announcements) =>
    follow(announcements.map(({ event }) => event)),
  )
}

type PluginEvent = Pick<JournalEvent, 'type' | 'state' | 'revision'> & { plugin: string }

function isOfPlugin(event: JournalEvent): event is JournalEvent & PluginEvent {
  return event.plugin !== null
}

function follow(all: readonly JournalEvent[]): void {
  const events = all.filter(isOfPlugin)
  if (events.length === 0) return
  showStates(events)
  for (const { plugin, state } of events) {
    if (state === 'uninstalled') removePlugin(plugin)
    if (absentStates.has(state)) changed.delete(plugin)
    else changed.add(plugin)
  }
  if (planned) return
  planned = true
  setTimeout(() => void readChanged(), collectTime)
}

let isJournalNew = false

/** To be told once the journal has been read. */
export function followReadJournal(): void {
  isJournalNew = true
  compareWithJournal()
}

/**
 * The list and the journal are read side by side, and the stream begins behind the journal: what had happened when that was
 * read, and not yet when the list was, is told by nobody else.
 */
function compareWithJournal(): void {
  const listed = plugins.peek()
  if (!isJournalNew || listed === undefined) return
  isJournalNew = false
  const newest = new Map(
    journal
      .peek()
      .events.filter(isOfPlugin)
      .map((event) => [event.plugin, event]),
  )
  follow(
    [...newest.values()].filter(({ plugin, state, revision }) => {
      const known = listed.get(plugin)
      return known === undefined ? !absentStates.has(state) : known.revision < revision
    }),
  )
}

/** One reading at a time: the list of hundreds is long, and they may all change at once. */
async function readChanged(): Promise<void> {
  const ids = [...changed]
  changed.clear()
  const read =
    ids.length >= manyChanged
      ? Array<boolean>(ids.length).fill(await loadPlugins())
      : await Promise.all(ids.map(readPlugin))
  // The stream tells of a change once. After a login all are read.
  const unread = needsToken.peek() ? [] : ids.filter((_, index) => read[index] === false)
  for (const id of unread) changed.add(id)
  planned = changed.size > 0
  if (planned) setTimeout(() => void readChanged(), unread.length > 0 ? retryTime : collectTime)
}

/** The state at once, with the switch beside it; all else when the plugin has been read. */
function showStates(events: readonly { plugin: string; type: string; state: string }[]): void {
  const next = new Map(plugins.peek() ?? [])
  for (const { plugin, type, state } of events) {
    const present = next.get(plugin)
    if (present === undefined) continue
    const fresh = { ...present, enabled: isEnabled(present, type), state: state as PluginState }
    // Why it had failed, and when it was to start again, is over.
    next.set(present.id, state === 'running' ? { ...fresh, error: null, restart: null } : fresh)
  }
  plugins.value = next
}

function isEnabled({ enabled }: Plugin, type: string): boolean {
  return type === 'PluginEnabled' || (enabled && type !== 'PluginDisabled')
}
