import { useEffect, useState } from 'preact/hooks'
import { pluginApi, send } from '../base/api.ts'
import { onAnnouncements } from '../base/stream.ts'
import type { Plugin, Point } from '../base/types.ts'
import { valueText } from '../base/words.ts'
import { Empty, Failure } from '../parts/feedback.tsx'
import { tellFailure } from '../parts/notices.tsx'
import { Switch } from '../parts/switch.tsx'
import { useRemote } from '../store/remote.ts'

/** Values of sensors and controls as they change. */
function usePoints(plugin: Plugin, kind: 'sensor' | 'control') {
  const remote = useRemote<Record<string, Point[]>>(pluginApi(plugin.id, `/${kind}s`))
  const [changes, setChanges] = useState<ReadonlyMap<string, unknown>>(new Map())
  const { id, state } = plugin
  useEffect(
    () =>
      onAnnouncements((announcements) => {
        const own = announcements.flatMap((announcement) =>
          announcement.kind === kind && announcement.plugin === id ? [announcement] : [],
        )
        if (own.length === 0) return
        setChanges(
          (before) => new Map([...before, ...own.map(({ id: point, value }) => [point, value] as const)]),
        )
      }),
    [id, kind],
  )
  // Which there are changes with the state: read them again.
  useEffect(() => {
    setChanges(new Map())
    remote.reload()
  }, [state])
  const points = (remote.value?.[`${kind}s`] ?? []).map((point) =>
    changes.has(point.id) ? { ...point, value: changes.get(point.id) } : point,
  )
  return { points, error: remote.error, reload: remote.reload }
}

export function ControlsTab({ plugin }: { plugin: Plugin }) {
  const controls = usePoints(plugin, 'control')
  const sensors = usePoints(plugin, 'sensor')
  const error = controls.error || sensors.error
  return (
    <div class="columns">
      <section class="panel">
        <h2>Controls</h2>
        {error === '' ? null : <Failure text={error} onRetry={controls.reload} />}
        {controls.points.length === 0 ? <Empty>{nothing(plugin, 'controls')}</Empty> : null}
        <ul class="points" aria-label="Controls">
          {controls.points.map((point) => (
            <Control key={point.id} plugin={plugin} point={point} />
          ))}
        </ul>
      </section>
      <section class="panel">
        <h2>Sensors</h2>
        {sensors.points.length === 0 ? <Empty>{nothing(plugin, 'sensors')}</Empty> : null}
        <ul class="points" aria-label="Sensors">
          {sensors.points.map(({ id, value, unit, description }) => (
            <li key={id} class="point">
              <span>
                {id}
                {description === undefined ? null : <small class="hint">{description}</small>}
              </span>
              <output class="value">
                {valueText(value)} {unit ?? ''}
              </output>
            </li>
          ))}
        </ul>
      </section>
    </div>
  )
}

function nothing({ state, name }: Plugin, what: string): string {
  return state === 'running' ? `${name} has no ${what}.` : `${name} has no ${what} while it is not running.`
}

function Control({ plugin, point }: { plugin: Plugin; point: Point }) {
  const { id, value, unit, description } = point
  const [typed, setTyped] = useState<string | undefined>(undefined)
  const range = rangeOf(point)

  async function set(next: unknown): Promise<void> {
    try {
      await send('PUT', pluginApi(plugin.id, `/controls/${encodeURIComponent(id)}`), { value: next })
    } catch (error) {
      tellFailure(error)
    } finally {
      setTyped(undefined)
    }
  }

  const current = typed ?? valueText(value)
  return (
    <li class="point control">
      <span>
        {id}
        {description === undefined ? null : <small class="hint">{description}</small>}
      </span>
      <output class="value">
        {current} {unit ?? ''}
      </output>
      {isSwitch(point) ? (
        <Switch
          label={id}
          on={value === true || value === 1 || value === 'on'}
          onChange={(on) => void set(on)}
        />
      ) : range !== undefined ? (
        <input
          type="range"
          aria-label={id}
          min={range[0]}
          max={range[1]}
          step={range[1] - range[0] <= 1 ? 0.01 : 1}
          value={typed ?? String(Number(value))}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          onChange={({ currentTarget }) => void set(Number(currentTarget.value))}
        />
      ) : (
        <form
          class="set"
          onSubmit={(event) => {
            event.preventDefault()
            void set(typedValue(current, point))
          }}
        >
          <input
            aria-label={id}
            value={typed ?? (value === null ? '' : valueText(value))}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
          <button type="submit">Set</button>
        </form>
      )}
    </li>
  )
}

function isSwitch({ type, value }: Point): boolean {
  return type === 'boolean' || type === 'switch' || (type === undefined && typeof value === 'boolean')
}

function rangeOf({ range }: Point): [number, number] | undefined {
  const [, low, high] = /^(-?[\d.]+)-(-?[\d.]+)$/.exec(range ?? '') ?? []
  return low === undefined || high === undefined ? undefined : [Number(low), Number(high)]
}

function typedValue(text: string, { type, value }: Point): unknown {
  const number = Number(text)
  const numeric = type === 'number' || typeof value === 'number'
  return numeric && text.trim() !== '' && Number.isFinite(number) ? number : text
}
