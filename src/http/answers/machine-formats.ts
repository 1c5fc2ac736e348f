import type { AnyStateMachine, AnyStateNode } from 'xstate'
import type { JsonObject } from '../../base/text/json.ts'

/**
 * The state machines of `machines/` as text for other programs. Pure. All states are on one level, and guards and actions
 * are named: a test holds the machines to what is written here.
 */

/** The definition as `createMachine` takes it; what is code is left to the name that it has. */
export function machineToJson({ config }: AnyStateMachine): JsonObject {
  return JSON.parse(JSON.stringify(config)) as JsonObject
}

interface Transition {
  event: string
  /** Id of the state it leads to; undefined when it stays where it is. */
  target: string | undefined
  guard: string | undefined
  actions: string[]
}

function transitionsOf(node: AnyStateNode): Transition[] {
  return [...node.transitions].flatMap(([event, transitions]) =>
    transitions.map(({ target, guard, actions }) => ({
      event,
      target: target?.[0]?.id,
      guard: guard as string | undefined,
      actions: actions as unknown as string[],
    })),
  )
}

function statesOf({ root }: AnyStateMachine): AnyStateNode[] {
  return Object.values(root.states)
}

function initialOf({ root }: AnyStateMachine): string {
  return root.initial.target.map(({ id }) => id).join(' ')
}

/** A Mermaid state diagram. */
export function machineToMermaid(machine: AnyStateMachine): string {
  const states = statesOf(machine)
  const lines = [
    'stateDiagram-v2',
    `  %% ${machine.root.description}`,
    `  [*] --> ${mermaidId(initialOf(machine))}`,
  ]
  for (const state of states) {
    lines.push(`  state "${state.key}" as ${mermaidId(state.id)}`, `  %% ${state.description}`)
    for (const transition of transitionsOf(state)) lines.push(arrow(state, transition))
  }
  for (const transition of transitionsOf(machine.root)) {
    // Mermaid draws no arrow from the whole diagram: each state that does not say otherwise has its own.
    const others = states.filter((state) => !state.transitions.has(transition.event))
    if (transition.target === undefined) lines.push(`  %% in any state: ${label(transition)}`)
    else lines.push(...others.map((state) => arrow(state, transition)))
  }
  return `${lines.join('\n')}\n`
}

function arrow(from: AnyStateNode, transition: Transition): string {
  const { target } = transition
  const to = target === undefined ? '' : ` --> ${mermaidId(target)}`
  return `  ${mermaidId(from.id)}${to} : ${label(transition)}`
}

/** As UML writes it: `event [guard] / actions`. */
function label({ event, guard, actions }: Transition): string {
  const condition = guard === undefined ? '' : ` [${guard}]`
  return `${event}${condition}${actions.length === 0 ? '' : ` / ${actions.join(', ')}`}`
}

/** Letters, digits and `_` alone. */
function mermaidId(id: string): string {
  return id.replaceAll('.', '__').replaceAll('-', '_2d_')
}

/** SCXML (W3C). Actions are elements of a namespace of their own, as the standard has it for custom content. */
export function machineToScxml(machine: AnyStateMachine): string {
  const { root } = machine
  // SCXML has no transitions on the document itself: the machine as a whole is its one state.
  return `<?xml version="1.0" encoding="UTF-8"?>
<scxml xmlns="http://www.w3.org/2005/07/scxml" xmlns:machine="urn:lupine:machine" version="1.0" name="${machine.id}" initial="${root.id}">
  <state id="${root.id}" initial="${initialOf(machine)}">
${contentOf(root, '    ')}${statesOf(machine)
    .map((state) => `    <state id="${state.id}">\n${contentOf(state, '      ')}    </state>\n`)
    .join('')}  </state>
</scxml>
`
}

function contentOf(node: AnyStateNode, indent: string): string {
  const lines = [`<!-- ${node.description} -->`]
  for (const { event, target, guard, actions } of transitionsOf(node)) {
    const condition = guard === undefined ? '' : ` cond="${guard}"`
    const tag = `transition event="${event}"${condition}${target === undefined ? '' : ` target="${target}"`}`
    if (actions.length === 0) lines.push(`<${tag}/>`)
    else
      lines.push(`<${tag}>`, ...actions.map((name) => `  <machine:action name="${name}"/>`), '</transition>')
  }
  return lines.map((line) => `${indent}${line}\n`).join('')
}
