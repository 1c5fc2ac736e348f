import { isOptional, namedPlugin } from '../../schema/manifest/named-plugin.ts'
import { absenceInWords, placementInWords } from '../base/fleet-words.ts'
import type { Plugin } from '../base/types.ts'
import { dateTimeOf, momentOf, stateInWords, waitInWords } from '../base/words.ts'
import { pluginPath } from '../base/router.ts'
import { breakable } from '../parts/breakable.tsx'
import { Failure, Note } from '../parts/feedback.tsx'
import { LongText } from '../parts/long-text.tsx'
import { LogEntryLine } from '../parts/lists/log-entry-line.tsx'
import { busy, reload } from '../store/commands.ts'
import { plugins } from '../store/plugins.ts'
import { limitName, limitValue } from '../base/limit-words.ts'
import { Link } from '../parts/link.tsx'

/** What is to be said of a plugin whatever part of its page one looks at. */
export function Condition({ plugin }: { plugin: Plugin }) {
  const { id, name, enabled, error, crashes, restart, trial, integrity, limitsReached, stale, placement } =
    plugin
  const absence = absenceInWords(plugin)
  return (
    <>
      {stale === true ? (
        <Note>
          The rest of the fleet cannot be reached from here: this is what was known of {name} last, and it may
          be otherwise by now.
        </Note>
      ) : null}
      {absence === '' ? null : (
        <Note>
          {absence} It may run {placementInWords(placement)}. <Link to={pluginPath(id)}>Change that</Link>.
        </Note>
      )}
      {error === null || absence !== '' ? null : (
        <>
          <Failure
            text={error.message}
            busy={busy.value.has(id)}
            {...(enabled ? { onRetry: () => void reload(id) } : {})}
          >
            · <time dateTime={error.at}>{momentOf(error.at)}</time>{' '}
            {error.code !== 'config_invalid' ? null : (
              <Link to={pluginPath(id, 'settings')}>Go to its settings</Link>
            )}
          </Failure>
          {isLeftDown(plugin) ? (
            <Note>
              It has crashed{crashes > 1 ? ` ${crashes} times in a row` : ''}, and is not started again by
              itself.
            </Note>
          ) : null}
          {error.log === undefined || error.log.length === 0 ? null : (
            <details class="panel last-lines">
              <summary>The last lines of its log</summary>
              <ul class="lines" aria-label="The last lines of its log" tabIndex={0}>
                {error.log.map((line, index) => (
                  <li key={index}>
                    <LogEntryLine entry={line} />
                  </li>
                ))}
              </ul>
            </details>
          )}
        </>
      )}
      {restart === null ? null : (
        <Note>
          It is started again by itself, {waitInWords(restart.delay)} after{' '}
          {error?.code === 'repository_unreachable' ? 'this failure' : 'the crash'} (attempt {restart.attempt}
          ).
        </Note>
      )}
      {trial === null ? null : (
        <Note>
          Version {plugin.version} is on trial since {dateTimeOf(trial.since)}: if it crashes before it has
          proved stable, {trial.from === plugin.version ? 'what was installed before' : trial.from} comes back
          by itself.
        </Note>
      )}
      {integrity.intact ? null : (
        <Note>
          Files of {name} are not as they were installed: <LongText text={integrity.changed.join(', ')} />. An
          update or going back to a version replaces them.
        </Note>
      )}
      {plugin.state !== 'running'
        ? null
        : absentOnes(plugin).map((needed) => (
            <Note key={needed.id}>
              It needs <Link to={pluginPath(needed.id)}>{breakable(needed.name)}</Link>, which does not run:{' '}
              {stateInWords(needed.state)}.
            </Note>
          ))}
      {limitsReached.length === 0 ? null : (
        <Note>
          It has reached{' '}
          {limitsReached
            .map(
              ({ limit, value, at }) =>
                `${limitName(limit)} (${limitValue(limit, value)}, at ${momentOf(at)})`,
            )
            .join(', ')}
          . <Link to={pluginPath(id, 'limits')}>See its limits</Link>.
        </Note>
      )}
    </>
  )
}

/** The host tries a few times; a version on trial goes instead. */
function isLeftDown({ enabled, state, crashes, restart, trial }: Plugin): boolean {
  return enabled && state === 'failed' && crashes > 0 && restart === null && trial === null
}

/** Those that it does not work without, and that do not run. One that is not installed is its error at the next start. */
function absentOnes({ namespace, dependencies }: Plugin): Plugin[] {
  return dependencies.flatMap((dependency) => {
    const needed = plugins.value?.get(namedPlugin(dependency, namespace)?.fullId ?? '')
    return isOptional(dependency) || needed === undefined || needed.state === 'running' ? [] : [needed]
  })
}
