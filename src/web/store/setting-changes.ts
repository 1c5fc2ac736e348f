import { useMemo } from 'preact/hooks'
import { changedSettings } from '../base/changed-settings.ts'
import type { JournalEvent } from '../base/types.ts'
import { plugins } from './plugins.ts'

/** By the number of the event, with the names that the settings have now. `events`: oldest first. */
export function settingChanges(events: readonly JournalEvent[]): ReadonlyMap<number, string> {
  return changedSettings(events, (plugin, key) => {
    const fields = plugins.peek()?.get(plugin)?.fields
    return fields?.find((field) => field.key === key)?.label ?? key
  })
}

export function useSettingChanges(events: readonly JournalEvent[]): ReadonlyMap<number, string> {
  // The journal may be there before the plugins, which have the names.
  const areNamed = plugins.value !== undefined
  return useMemo(() => settingChanges(events), [events, areNamed])
}
