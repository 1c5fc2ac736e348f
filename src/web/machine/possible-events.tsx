import { pluginApi } from '../base/api.ts'
import { pluginPath } from '../base/router.ts'
import type { Plugin } from '../base/types.ts'
import { eventInWords } from '../base/words.ts'
import { ReadState } from '../parts/feedback.tsx'
import { type Question, useQuestion } from '../plugin/changes/use-question.tsx'
import { busy, reload, rollback, toggle } from '../store/commands.ts'
import { isInFleet } from '../store/host.ts'
import { useRemote } from '../store/remote.ts'
import { Link } from '../parts/link.tsx'

interface Command {
  label: string
  /** `ask`: for what is asked about first. */
  run(id: string, ask: (question: Question) => void): unknown
}

/** Commands that bring an event about. The others only the host reports, after it has done something. */
const commands: Readonly<Record<string, Command | undefined>> = {
  PluginEnabled: { label: 'Switch on', run: (id) => toggle(id, true) },
  PluginDisabled: { label: 'Switch off', run: (id) => toggle(id, false) },
  PluginLoadRequested: { label: 'Start again', run: (id) => reload(id) },
  PluginUnloadRequested: { label: 'Reload', run: (id) => reload(id) },
  PluginRolledBack: { label: 'Back to the version before', run: (id) => rollback(id) },
  PluginUpdated: { label: 'Update', run: (_, ask) => ask('update') },
  PluginUninstalled: { label: 'Uninstall', run: (_, ask) => ask('uninstall') },
}

/** What is changed on a tab of the plugin's page. */
const links: Readonly<Record<string, { label: string; tab: string } | undefined>> = {
  PluginConfigured: { label: 'Change the settings', tab: 'settings' },
  PluginLimitsChanged: { label: 'Change the limits', tab: 'limits' },
  PluginHookSecretChanged: { label: 'Renew the secret of its addresses', tab: '' },
  PluginPlaced: { label: 'Change where it may run', tab: '' },
}

/** What happens only where several hosts work as one. */
const ofFleet: ReadonlySet<string> = new Set(['PluginMoved', 'PluginPlaced'])

/** What may happen to a plugin now. */
export function PossibleEvents({ plugin }: { plugin: Plugin }) {
  const remote = useRemote<{ nextEvents: string[] }>(pluginApi(plugin.id, '/machine'), {
    version: `${plugin.revision} ${plugin.state}`,
  })
  const { ask, question } = useQuestion(plugin)
  const doing = busy.value.get(plugin.id)
  const events = (remote.value?.nextEvents ?? []).filter((event) => {
    // The page of the plugin has a button for it where there are such addresses.
    if (event === 'PluginHookSecretChanged') return plugin.resources.httpHandlers > 0
    return isInFleet.value || !ofFleet.has(event)
  })
  return (
    <div class="possible">
      <h3>Possible now</h3>
      <ReadState remote={remote} what="what is possible" />
      <ul class="event-buttons" aria-label="Events that are possible now">
        {events.map((event) => {
          const command = commands[event]
          const link = links[event]
          return (
            <li key={event}>
              {link !== undefined ? (
                <Link class="button" to={pluginPath(plugin.id, link.tab)}>
                  {link.label} <small>{event}</small>
                </Link>
              ) : command === undefined ? (
                <span class="reported">
                  {eventInWords(event)} <small>reported by the host</small>
                </span>
              ) : (
                <button
                  type="button"
                  disabled={doing !== undefined}
                  onClick={() => void command.run(plugin.id, ask)}
                >
                  {command.label} <small>{event}</small>
                </button>
              )}
            </li>
          )
        })}
      </ul>
      {doing === undefined ? null : (
        <p class="hint" role="status">
          {doing}
        </p>
      )}
      {question}
    </div>
  )
}
