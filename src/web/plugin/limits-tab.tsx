import { pluginApi, send } from '../base/api.ts'
import type { LimitDescription, Plugin } from '../base/types.ts'
import { momentOf } from '../base/words.ts'
import { Failure, ReadState } from '../parts/feedback.tsx'
import { useSubmit } from '../parts/inputs/use-submit.ts'
import { tell } from '../store/notices.ts'
import { useKeptState } from '../store/kept-state.ts'
import { putPlugin } from '../store/plugins.ts'
import { replaceIfUnchanged } from '../store/replace-if-unchanged.ts'
import { useRemote } from '../store/remote.ts'
import { ErrorLine } from './settings/field-frame.tsx'
import { limitName, limitText } from '../base/limit-words.ts'

const nothing: ReadonlyMap<string, string> = new Map()

/** What the plugin may take of the host; an empty field is what the host gives every plugin. */
export function LimitsTab({ plugin }: { plugin: Plugin }) {
  const remote = useRemote<{ limits: LimitDescription[] }>('/api/limits')
  const described = remote.value?.limits ?? []
  const [typed, setTyped] = useKeptState<ReadonlyMap<string, string>>(`limits of ${plugin.id}`, nothing)
  const { submit, sending, failure } = useSubmit(save)
  const set = new Map(Object.entries<number | undefined>(plugin.limits.set))
  const textOf = (name: string): string => typed.get(name) ?? String(set.get(name) ?? '')
  const wrong = described.filter((limit) => problemOf(limit, textOf(limit.name)) !== '')
  const changed = described.some(({ name }) => textOf(name).trim() !== String(set.get(name) ?? ''))

  async function save(): Promise<void> {
    if (wrong.length > 0 || !changed) return
    const limits = Object.fromEntries(
      described.flatMap(({ name }) => (textOf(name).trim() === '' ? [] : [[name, Number(textOf(name))]])),
    )
    putPlugin(
      await replaceIfUnchanged(
        plugin,
        (seen) => seen.limits.set,
        (revision) => send<Plugin>('PUT', pluginApi(plugin.id, '/limits'), { limits }, revision),
      ),
    )
    // What has been typed meanwhile stays.
    setTyped((now) => new Map([...now].filter(([name, text]) => typed.get(name) !== text)))
    tell(`The limits of ${plugin.name} are saved.`)
  }

  if (remote.value === undefined) return <ReadState remote={remote} what="the limits" />
  return (
    <form class="panel" onSubmit={submit} noValidate>
      <h2>Limits</h2>
      <p class="hint">
        What it may take of this host. An empty field is what every plugin gets; a change reloads it when it
        is on.
      </p>
      <ReadState remote={remote} what="the limits" />
      <div class="limits">
        {described.map((limit) => (
          <LimitField
            key={limit.name}
            limit={limit}
            text={textOf(limit.name)}
            isShared={plugin.limits.notOwn?.includes(limit.name) === true}
            reachedAt={plugin.limitsReached.find((reached) => reached.limit === limit.name)?.at}
            onInput={(text) => setTyped((now) => new Map(now).set(limit.name, text))}
          />
        ))}
      </div>
      {failure === '' ? null : <Failure text={failure} />}
      <p class="hint" id="limits-hint" role="status">
        {wrong.length > 0
          ? `Cannot be saved yet: ${wrong.map(({ name }) => limitName(name)).join(', ')}.`
          : changed
            ? plugin.enabled
              ? `Saving reloads ${plugin.name}.`
              : `Saving keeps ${plugin.name} off.`
            : 'There is nothing to save: all is as it is stored.'}
      </p>
      <div class="actions">
        <button
          type="submit"
          class="primary"
          disabled={sending || !changed || wrong.length > 0}
          aria-describedby="limits-hint"
        >
          Save the limits
        </button>
        <button type="button" disabled={sending || typed.size === 0} onClick={() => setTyped(() => nothing)}>
          Discard changes
        </button>
      </div>
    </form>
  )
}

interface LimitFieldProps {
  limit: LimitDescription
  text: string
  /** The plugin shares a worker, and this cannot be kept for it alone. */
  isShared: boolean
  /** When the plugin met it, since it was loaded last. */
  reachedAt: string | undefined
  onInput(text: string): void
}

function LimitField({ limit, text, isShared, reachedAt, onInput }: LimitFieldProps) {
  const { name, unit, description, default: usual } = limit
  const id = `limit-${name}`
  const problem = problemOf(limit, text)
  const known = text.trim() !== '' && problem === ''
  return (
    <div class={problem === '' ? 'field' : 'field wrong'}>
      <label class="label" for={id}>
        {limitName(name)}
        {reachedAt === undefined ? null : (
          <span class="chip tone-busy">Reached at {momentOf(reachedAt)}</span>
        )}
      </label>
      <input
        id={id}
        value={text}
        inputMode="numeric"
        autocomplete="off"
        placeholder={usual === null ? 'no limit' : String(usual)}
        aria-describedby={`${id}-hint ${id}-error`}
        aria-invalid={problem !== ''}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      <p class="hint" id={`${id}-hint`}>
        {description}. Usual: {usual === null ? 'no limit' : limitText(usual, unit)}
        {known && unit === 'bytes' ? `; here ${limitText(Number(text), unit)}` : ''}.
        {isShared
          ? ' Now it shares a worker, with a limit for all in it; one set here gives it its own.'
          : ''}
      </p>
      <ErrorLine id={id} text={problem === '' ? '' : `${limitName(name)} ${problem}.`} />
    </div>
  )
}

/** As the host would say it; it checks once more. */
function problemOf({ min, max }: LimitDescription, text: string): string {
  if (text.trim() === '') return ''
  const number = Number(text)
  return Number.isInteger(number) && number >= min && number <= max
    ? ''
    : `must be a whole number from ${min} to ${max}`
}
