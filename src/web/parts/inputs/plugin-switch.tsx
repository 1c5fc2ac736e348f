import type { Plugin } from '../../base/types.ts'
import { busy, toggle } from '../../store/commands.ts'
import { PluginChip } from '../state-chip.tsx'
import { Switch } from './switch.tsx'

/** What a plugin is up to, and the way to switch it on and off. */
export function PluginSwitch({ plugin }: { plugin: Plugin }) {
  const { id, name, enabled } = plugin
  const doing = busy.value.get(id) ?? ''
  return (
    <>
      {doing === '' ? <PluginChip plugin={plugin} /> : <span class="chip tone-busy">{doing}</span>}
      <Switch
        label={`${name} enabled`}
        on={enabled}
        disabled={doing !== ''}
        onChange={(on) => void toggle(id, on)}
      />
    </>
  )
}
