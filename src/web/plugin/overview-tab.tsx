import { labelOfPath } from '../../schema/manifest/setting-label.ts'
import { useEffect } from 'preact/hooks'
import { valuesAt, withReferences } from '../../schema/manifest/config-references.ts'
import { permissionEntries } from '../../schema/manifest/permission-entries.ts'
import type { PermissionSettings } from '../base/permission-words.ts'
import type { Plugin } from '../base/types.ts'
import { dateTimeOf } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { AddressLink, Fact } from '../parts/fact.tsx'
import { Tags } from '../parts/lists/tag-filter.tsx'
import { isInFleet } from '../store/host.ts'
import { busy, reload } from '../store/commands.ts'
import { readPlugin } from '../store/plugins.ts'
import { ConnectionsPanel } from './connections-panel.tsx'
import { HooksPanel } from './hooks-panel.tsx'
import { Allowed } from './changes/permission-list.tsx'
import { PlacementPanel } from './placement-panel.tsx'
import { useQuestion } from './changes/use-question.tsx'
import { VersionsPanel } from './versions-panel.tsx'
import { Link } from '../parts/link.tsx'

/** How often what it holds is read again, in milliseconds. */
const lookInterval = 3_000

const resourceWords: Readonly<Record<string, string>> = {
  timers: 'Timers',
  pollers: 'Pollers',
  eventSubscriptions: 'Events listened to',
  mqttSubscriptions: 'MQTT topics listened to',
  objects: 'Objects',
  sensors: 'Sensors',
  controls: 'Controls',
  throttles: 'Throttled events',
  schedules: 'Times at which it does something',
  watches: 'Objects and sensors watched',
  httpRequests: 'HTTP requests under way',
  httpHandlers: 'Addresses for requests from outside',
  sockets: 'Open sockets',
  serialPorts: 'Open serial ports',
  discoveries: 'Searches of the network',
}

export function OverviewTab({ plugin }: { plugin: Plugin }) {
  const { description, author, homepage, license, tags, repository, dependencies, resources, enabled } =
    plugin
  const doing = busy.value.has(plugin.id)
  const { ask, question } = useQuestion(plugin)
  // What it holds is no fact of the journal.
  useEffect(() => {
    void readPlugin(plugin.id)
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void readPlugin(plugin.id)
    }, lookInterval)
    return () => clearInterval(timer)
  }, [plugin.id])
  return (
    <div class="columns">
      <section class="panel">
        <h2>About</h2>
        <p class="plugin-text">{description ?? 'Its author says nothing about it.'}</p>
        <dl class="facts">
          <Fact name="Author">{breakable(author ?? '–')}</Fact>
          <Fact name="Licence">{license ?? '–'}</Fact>
          <Fact name="Home page">
            <AddressLink address={homepage ?? '–'} />
          </Fact>
          <Fact name="Repository">{breakable(repository ?? '–')}</Fact>
          <Fact name="Tags" as="tag-line">
            {tags.length === 0 ? (
              '–'
            ) : (
              <Tags
                tags={tags}
                show={(tag) => (
                  <Link key={tag} class="tag" to={`/plugins?tag=${encodeURIComponent(tag)}`}>
                    {tag}
                  </Link>
                )}
              />
            )}
          </Fact>
          <Fact name="Needs">
            {dependencies.length === 0
              ? 'no other plugin'
              : breakable(dependencies.map(dependencyText).join(', '))}
          </Fact>
          <Fact name="Installed">{dateTimeOf(plugin.installedAt)}</Fact>
          <Fact name="Last change">
            {dateTimeOf(plugin.updatedAt)} (revision {plugin.revision})
          </Fact>
        </dl>
        <div class="actions">
          <button type="button" disabled={doing || !enabled} onClick={() => void reload(plugin.id)}>
            Reload
          </button>
          <button type="button" disabled={doing} onClick={() => ask('update')}>
            Look for an update
          </button>
          <button type="button" class="danger" disabled={doing} onClick={() => ask('uninstall')}>
            Uninstall
          </button>
        </div>
      </section>
      <div class="stack">
        {isInFleet.value ? <PlacementPanel key={plugin.id} plugin={plugin} /> : null}
        {resources.httpHandlers === 0 ? null : <HooksPanel plugin={plugin} />}
        {resources.sockets + resources.serialPorts + resources.discoveries === 0 ? null : (
          <ConnectionsPanel plugin={plugin} />
        )}
        <VersionsPanel plugin={plugin} />
        {plugin.warnings.length === 0 ? null : (
          <section class="panel">
            <h2>Mistakes in its manifest</h2>
            <p>It runs without these. Its author can correct them.</p>
            <ul>
              {plugin.warnings.map(({ path, message }) => (
                <li key={`${path} ${message}`}>
                  <code>{breakable(path)}</code> {breakable(message)}
                </li>
              ))}
            </ul>
          </section>
        )}
        <section class="panel">
          <h2>What it may do</h2>
          <Allowed
            label="What it may do"
            entries={permissionEntries(plugin.permissions, plugin.environment.read)}
            settings={settingsOf(plugin)}
          />
        </section>
        <section class="panel">
          <h2>What it holds now</h2>
          <dl class="facts">
            {Object.entries(resources).map(([name, count]) => (
              <Fact key={name} name={resourceWords[name] ?? name} as="number">
                {count}
              </Fact>
            ))}
          </dl>
        </section>
      </div>
      {question}
    </div>
  )
}

function dependencyText(dependency: Plugin['dependencies'][number]): string {
  if (typeof dependency === 'string') return dependency
  const { id, version, optional } = dependency
  return `${id}${version === undefined ? '' : ` ${version}`}${optional === true ? ' (if it is there)' : ''}`
}

/** Settings as they are, or as they would be without being set. */
function settingsOf({ fields, config }: Plugin): PermissionSettings {
  const fieldOf = (key: string) => fields.find((field) => field.key === key)
  const defaults = fields.flatMap((field) =>
    field.default === null ? [] : [[field.key, field.default] as const],
  )
  const whole = { ...Object.fromEntries(defaults), ...config }
  return {
    labelOf: (key) => labelOfPath(fields, key),
    valueOf: (key) => (fieldOf(key)?.secret === true ? undefined : valuesAt(whole, key)[0]),
    rowsOf: (value) => withReferences(value, whole),
  }
}
