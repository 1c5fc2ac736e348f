import { useState } from 'preact/hooks'
import { controlKind, rangePattern } from '../../schema/plugin/control-value.ts'
import type { Plugin, Point } from '../base/types.ts'
import { readableText } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { EmptyOfPlugin, ReadState } from '../parts/feedback.tsx'
import { type InputKind, numberInput } from '../parts/inputs/input-kind.ts'
import { ValueInput } from '../parts/inputs/value-input.tsx'
import { setValue } from '../store/commands.ts'
import { usePoints } from '../store/values.ts'
import { ExposuresPanel } from './exposures-panel.tsx'

export function ControlsTab({ plugin }: { plugin: Plugin }) {
  const controls = usePoints(plugin, 'control')
  const sensors = usePoints(plugin, 'sensor')
  return (
    <div class="columns">
      <div class="stack">
        <section class="panel">
          <h2>Controls</h2>
          <PointsState {...controls} plugin={plugin} what="controls" />
          <ul class="points" aria-label="Controls">
            {controls.points.map((point) => (
              <Control key={point.id} plugin={plugin} point={point} />
            ))}
          </ul>
        </section>
        <section class="panel">
          <h2>Sensors</h2>
          <PointsState {...sensors} plugin={plugin} what="sensors" />
          <ul class="points" aria-label="Sensors">
            {sensors.points.map((point) => (
              <li key={point.id} class="point">
                <PointName point={point} />
                <output class="value">
                  {breakable(readableText(point.value))} {point.unit ?? ''}
                </output>
              </li>
            ))}
          </ul>
        </section>
      </div>
      <ExposuresPanel plugin={plugin} />
    </div>
  )
}

interface PointsStateProps extends ReturnType<typeof usePoints> {
  plugin: Plugin
  what: string
}

function PointsState({ plugin, what, points, remote }: PointsStateProps) {
  return (
    <>
      <ReadState remote={remote} what={`the ${what}`} />
      {remote.value !== undefined && points.length === 0 ? (
        <EmptyOfPlugin plugin={plugin} nothing={`has no ${what}`} />
      ) : null}
    </>
  )
}

function PointName({ point: { id, description } }: { point: Point }) {
  return (
    <span>
      {breakable(id)}
      {description === undefined ? null : <small class="hint">{description}</small>}
    </span>
  )
}

function Control({ plugin, point }: { plugin: Plugin; point: Point }) {
  const { id, value, unit } = point
  const [typed, setTyped] = useState<string | undefined>(undefined)

  const set = (next: unknown) => setValue(plugin.id, `/controls/${encodeURIComponent(id)}`, next)
  return (
    <li class="point">
      <PointName point={point} />
      <output class="value">
        {breakable(typed ?? readableText(value))} {unit ?? ''}
      </output>
      <ValueInput label={id} input={inputOf(point)} value={value} onSet={set} onTyping={setTyped} />
    </li>
  )
}

function inputOf({ type, value, range }: Point): InputKind {
  const kind = controlKind(type) ?? typeof value
  if (kind === 'boolean') return { kind: 'switch' }
  const [, low, high] = rangePattern.exec(range ?? '') ?? []
  if (low !== undefined && high !== undefined) return numberInput(Number(low), Number(high))
  return { kind: kind === 'number' || typeof value === 'number' ? 'number' : 'text' }
}
