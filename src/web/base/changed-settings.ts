import { isJsonObject, jsonText } from '../../base/text/json.ts'
import type { JournalEvent } from './types.ts'
import { valueText } from './words.ts'
import { hiddenValue } from '../../schema/plugin/hidden-value.ts'

/** Which settings an event has changed, in plain words: the journal keeps all of them as they were then. Pure. */

type Config = Readonly<Record<string, unknown>>
/** What people call a setting of a plugin. */
type LabelOf = (plugin: string, key: string) => string

/** A longer value tells less than that it has changed. */
const longestValue = 60

/** By the number of the event; only where it is known how they were before. `events`: oldest first. */
export function changedSettings(
  events: readonly JournalEvent[],
  labelOf: LabelOf,
): ReadonlyMap<number, string> {
  const known = new Map<string, Config>()
  const changes = new Map<number, string>()
  for (const { seq, plugin, type, data } of events) {
    if (plugin === null) continue
    // A version that returns brings back the settings that it had.
    if (type === 'PluginRolledBack') known.delete(plugin)
    if (type === 'PluginInstalled') known.set(plugin, {})
    if (type !== 'PluginConfigured' || !isJsonObject(data.config)) continue
    const before = known.get(plugin)
    if (before !== undefined)
      changes.set(
        seq,
        differences(before, data.config, (key) => labelOf(plugin, key)),
      )
    known.set(plugin, data.config)
  }
  return changes
}

function differences(before: Config, after: Config, labelOf: (key: string) => string): string {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changed = keys.filter((key) => jsonText(before[key] ?? null) !== jsonText(after[key] ?? null))
  if (changed.length > 0)
    return changed.map((key) => `${labelOf(key)} ${change(before[key], after[key])}`).join(', ')
  return jsonText(after).includes(hiddenValue)
    ? 'nothing but secrets can have changed'
    : 'nothing has changed'
}

function change(before: unknown, after: unknown): string {
  if (isAbsent(after)) return 'taken out'
  const [from, to] = [valueText(before), valueText(after)]
  const tellsMore = Math.max(from.length, to.length) <= longestValue && !isHidden(before, after)
  if (isAbsent(before)) return tellsMore ? `set to ${to}` : 'set'
  return tellsMore ? `from ${from} to ${to}` : 'changed'
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === ''

function isHidden(before: unknown, after: unknown): boolean {
  return jsonText([before ?? null, after ?? null]).includes(hiddenValue)
}
