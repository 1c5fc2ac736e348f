import { getOrInsert } from '../../base/get-or-insert.ts'
import type { MachineDefinition, TransitionDefinition } from '../base/types.ts'

/** The arrows of a machine's picture. Pure. */

export interface Arrow {
  from: string
  to: string
  events: string[]
}

/** Where a transition of the machine as a whole begins. */
export const anyState = 'any state'

export interface ChartParts {
  states: string[]
  arrows: Arrow[]
}

export function chartParts({ states, on = {} }: MachineDefinition): ChartParts {
  const arrows = new Map<string, Arrow>()
  const add = (from: string, event: string, transition: TransitionDefinition): void => {
    const target = targetOf(transition)
    // What changes something of a state, but not the state, is no arrow.
    if (target === undefined || target === from) return
    getOrInsert(arrows, `${from} ${target}`, () => ({ from, to: target, events: [] })).events.push(event)
  }
  for (const [state, definition] of Object.entries(states)) {
    for (const [event, transition] of transitionsOf(definition.on ?? {})) add(state, event, transition)
  }
  for (const [event, transition] of transitionsOf(on)) add(anyState, event, transition)
  const names = Object.keys(states)
  const fromAny = [...arrows.values()].some(({ from }) => from === anyState)
  return { states: fromAny ? [anyState, ...names] : names, arrows: [...arrows.values()] }
}

function transitionsOf(on: NonNullable<MachineDefinition['on']>): [string, TransitionDefinition][] {
  return Object.entries(on).flatMap(([event, given]) =>
    (Array.isArray(given) ? given : [given]).map(
      (transition) => [event, transition] as [string, TransitionDefinition],
    ),
  )
}

function targetOf(transition: TransitionDefinition): string | undefined {
  const target = typeof transition === 'string' ? transition : transition.target
  return target?.replace(/^\./, '')
}

/** The state that the event was taken in: the one after the event before. */
export function arrowOf(
  arrows: readonly Arrow[],
  event: string,
  before: string | undefined,
  after: string,
): Arrow | undefined {
  const fitting = arrows.filter((arrow) => arrow.to === after && arrow.events.includes(event))
  return (
    fitting.find(({ from }) => from === before) ??
    fitting.find(({ from }) => from === anyState) ??
    (before === undefined ? fitting[0] : undefined)
  )
}
