import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { MachineDefinition } from '../base/types.ts'
import { toneOf } from '../base/words.ts'
import { anyState, arrowOf, chartParts } from './arrows.ts'
import { layoutChart, lineHeight, type PlacedArrow, type PlacedState, shortName } from './layout-chart.ts'

export interface LastTransition {
  /** Number of the event: another one runs the animation again. */
  seq: number
  event: string
  before: string | undefined
  after: string
}

/** The picture is made smaller to fit, but not so that its labels (11.5 pixels) cannot be read; then it scrolls. */
const smallestScale = 0.88

interface ChartProps {
  machine: MachineDefinition
  /** The state to be lit. */
  current: string | undefined
  last: LastTransition | undefined
  /** How many plugins are in each state, where no single one is looked at. */
  counts?: ReadonlyMap<string, number>
}

export function Chart({ machine, current, last, counts }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null)
  const parts = useMemo(() => chartParts(machine), [machine])
  const chart = useMemo(() => layoutChart(parts), [parts])
  const taken = last === undefined ? undefined : arrowOf(parts.arrows, last.event, last.before, last.after)
  const lit = chart.states.find(({ name }) => name === current)

  // On a small screen the picture is wider than the page: bring what matters into view.
  useEffect(() => {
    const element = frame.current
    if (element === null || lit === undefined) return
    element.scrollTo({ left: lit.x - element.clientWidth / 2, top: lit.y - element.clientHeight / 2 })
  }, [lit])

  return (
    <div class="chart" ref={frame} tabIndex={0} role="region" aria-label={`Statechart of ${machine.id}`}>
      <svg
        viewBox={`0 0 ${chart.width} ${chart.height}`}
        width={chart.width}
        height={chart.height}
        style={{ minWidth: `${Math.floor(chart.width * smallestScale)}px` }}
        role="img"
        aria-label={describe(current, last)}
      >
        <defs>
          {[
            { id: 'head', size: 7 },
            { id: 'head-taken', size: 5 },
          ].map(({ id, size }) => (
            <marker
              key={id}
              id={id}
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth={size}
              markerHeight={size}
              orient="auto-start-reverse"
            >
              <path d="M0 0.5L8 4L0 7.5z" />
            </marker>
          ))}
        </defs>
        {chart.arrows.map((arrow) => (
          <ArrowLine
            key={`${arrow.from} ${arrow.to}`}
            arrow={arrow}
            taken={taken?.from === arrow.from && taken.to === arrow.to ? last : undefined}
          />
        ))}
        {chart.arrows.map((arrow) => (
          <ArrowLabel
            key={`${arrow.from} ${arrow.to} label`}
            arrow={arrow}
            event={taken?.from === arrow.from && taken.to === arrow.to ? last?.event : undefined}
          />
        ))}
        {chart.states.map((state) => (
          <StateBox
            key={state.name}
            state={state}
            current={state.name === current}
            count={counts?.get(state.name)}
          />
        ))}
      </svg>
    </div>
  )
}

function ArrowLine({ arrow, taken }: { arrow: PlacedArrow; taken: LastTransition | undefined }) {
  return (
    <g class={taken === undefined ? 'arrow' : 'arrow taken'}>
      <path
        d={arrow.path}
        class="arrow-line"
        marker-end={taken === undefined ? 'url(#head)' : 'url(#head-taken)'}
      />
      {taken === undefined ? null : <path key={taken.seq} d={arrow.path} class="arrow-run" pathLength={1} />}
    </g>
  )
}

function ArrowLabel({ arrow, event }: { arrow: PlacedArrow; event: string | undefined }) {
  const { events, label } = arrow
  const top = label.y - ((events.length - 1) * lineHeight) / 2
  return (
    <text class="arrow-label" x={label.x} text-anchor="middle">
      {events.map((name, index) => (
        <tspan key={name} x={label.x} y={top + index * lineHeight + 4} class={name === event ? 'taken' : ''}>
          {shortName(name)}
        </tspan>
      ))}
    </text>
  )
}

function StateBox({
  state,
  current,
  count,
}: {
  state: PlacedState
  current: boolean
  count: number | undefined
}) {
  const { name, x, y, width, height } = state
  const classes = ['state', `tone-${toneOf(name)}`, current ? 'current' : '', name === anyState ? 'any' : '']
  return (
    <g class={classes.join(' ')}>
      <rect x={x - width / 2} y={y - height / 2} width={width} height={height} rx={height / 3} />
      <text x={x} y={y + 5} text-anchor="middle">
        {name}
      </text>
      {count === undefined || count === 0 ? null : (
        <g class="count">
          <circle cx={x + width / 2 - 4} cy={y - height / 2 + 4} r={12} />
          <text x={x + width / 2 - 4} y={y - height / 2 + 9} text-anchor="middle">
            {count}
          </text>
        </g>
      )}
    </g>
  )
}

function describe(current: string | undefined, last: LastTransition | undefined): string {
  const now = current === undefined ? 'No state is lit.' : `The state is ${current}.`
  return last === undefined ? now : `${now} It came by ${last.event} from ${last.before ?? 'nothing'}.`
}
