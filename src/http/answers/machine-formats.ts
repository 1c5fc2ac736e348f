import type { AnyStateMachine, AnyStateNode } from 'xstate'
import type { Json, JsonObject } from '../../base/text/json.ts'
import { escapeMarkup } from './escape-markup.ts'

/** A state machine as text for other programs. Pure; guards and actions are told by their names. */

interface Transition {
  event: string
  /** Ids of the states it leads to; empty when it stays where it is. */
  targets: string[]
  guard: string | undefined
  actions: string[]
  description: string | undefined
}

/** XState keeps both a guard and an action as a name, an object with a `type`, or a function. */
function nameOf(part: unknown): string {
  if (typeof part === 'string') return part
  if (typeof part === 'function') return part.name || 'inline'
  if (typeof part === 'object' && part !== null && 'type' in part) return nameOf(part.type)
  return 'inline'
}

function transitionsOf(node: AnyStateNode): Transition[] {
  const all = [...node.transitions].flatMap(([event, transitions]) =>
    transitions.map((transition) => ({ event, transition })),
  )
  for (const transition of node.always ?? []) all.push({ event: '', transition })
  return all.map(({ event, transition }) => ({
    event,
    targets: (transition.target ?? []).map(({ id }) => id),
    guard: transition.guard === undefined ? undefined : nameOf(transition.guard),
    actions: transition.actions.map(nameOf),
    description: transition.description,
  }))
}

function childrenOf(node: AnyStateNode): AnyStateNode[] {
  return Object.values(node.states)
}

/** The definition as `createMachine` takes it; what is code is left to the name that it has. */
export function machineToJson(machine: AnyStateMachine): JsonObject {
  const definition = plain(machine.config)
  return typeof definition === 'object' && definition !== null && !Array.isArray(definition)
    ? definition
    : { id: machine.id }
}

/** Members of a definition that hold types for the compiler, not anything of the machine. */
const withoutMeaning = new Set(['schemas', 'types', 'tsTypes'])
/** Members that hold code, or names of code. */
const namedCode = new Set(['guard', 'actions', 'entry', 'exit', 'src'])

/** Members whose own members are named by the author, so that `on: { entry: … }` is an event, not code. */
const authorNamed = new Set(['on', 'states', 'after', 'context', 'meta'])

function plain(value: unknown, member = ''): Json | undefined {
  if (
    value === null ||
    typeof value === 'boolean' ||
    typeof value === 'number' ||
    typeof value === 'string'
  ) {
    return value
  }
  if (Array.isArray(value)) return value.map((item) => plain(item) ?? null)
  if (typeof value !== 'object') return undefined
  const object: JsonObject = {}
  for (const [key, child] of Object.entries(value)) {
    const json = authorNamed.has(member) ? plain(child) : plainMember(key, child)
    if (json !== undefined) object[key] = json
  }
  return object
}

function plainMember(key: string, value: unknown): Json | undefined {
  if (withoutMeaning.has(key) || value === undefined) return undefined
  if (!namedCode.has(key)) return plain(value, key)
  return Array.isArray(value) ? value.map(nameOf) : nameOf(value)
}

/** A Mermaid state diagram. */
export function machineToMermaid(machine: AnyStateMachine): string {
  const lines = ['stateDiagram-v2']
  if (machine.config.description !== undefined) lines.push(`  %% ${oneLine(machine.config.description)}`)
  writeStates(machine.root, '  ', lines)
  for (const transition of transitionsOf(machine.root)) {
    // Mermaid draws no arrow from the whole diagram: each state that does not say otherwise has its own.
    if (transition.targets.length === 0) {
      lines.push(`  %% in any state: ${oneLine(label(transition))}`)
      continue
    }
    for (const child of childrenOf(machine.root)) {
      if (!child.transitions.has(transition.event)) writeArrows(child, transition, '  ', lines)
    }
  }
  return `${lines.join('\n')}\n`
}

function writeStates(node: AnyStateNode, indent: string, lines: string[]): void {
  if (node.type === 'parallel') {
    childrenOf(node).forEach((child, index) => {
      if (index > 0) lines.push(`${indent}--`)
      writeState(child, indent, lines)
    })
    return
  }
  for (const { id } of node.type === 'compound' ? node.initial.target : []) {
    lines.push(`${indent}[*] --> ${mermaidId(id)}`)
  }
  for (const child of childrenOf(node)) writeState(child, indent, lines)
}

function writeState(node: AnyStateNode, indent: string, lines: string[]): void {
  const id = mermaidId(node.id)
  lines.push(`${indent}state "${mermaidText(node.key)}" as ${id}`)
  if (node.description !== undefined) lines.push(`${indent}%% ${oneLine(node.description)}`)
  if (childrenOf(node).length > 0) {
    lines.push(`${indent}state ${id} {`)
    writeStates(node, `${indent}  `, lines)
    lines.push(`${indent}}`)
  }
  for (const transition of transitionsOf(node)) {
    if (transition.targets.length === 0) lines.push(`${indent}${id} : ${mermaidText(label(transition))}`)
    else writeArrows(node, transition, indent, lines)
  }
  if (node.type === 'final') lines.push(`${indent}${id} --> [*]`)
}

function writeArrows(from: AnyStateNode, transition: Transition, indent: string, lines: string[]): void {
  for (const target of transition.targets) {
    lines.push(`${indent}${mermaidId(from.id)} --> ${mermaidId(target)} : ${mermaidText(label(transition))}`)
  }
}

/** As UML writes it: `event [guard] / actions`. */
function label({ event, guard, actions }: Transition): string {
  return [
    event === '' ? 'always' : event,
    ...(guard === undefined ? [] : [`[${guard}]`]),
    ...(actions.length === 0 ? [] : [`/ ${actions.join(', ')}`]),
  ].join(' ')
}

/** Letters, digits and `_` alone; anything else by its code, so that two ids never become one. */
function mermaidId(id: string): string {
  return id.replace(/[^A-Za-z0-9]/gu, (character) =>
    character === '.' ? '__' : `_${character.codePointAt(0)?.toString(16)}_`,
  )
}

/** Characters that end a statement or a string are given by their number. */
function mermaidText(text: string): string {
  return oneLine(text).replace(/[#;"<>{}:%]/g, (character) => `#${character.charCodeAt(0)};`)
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** SCXML (W3C). Actions are elements of a namespace of their own, as the standard has it for custom content. */
export function machineToScxml(machine: AnyStateMachine): string {
  const lines = ['<?xml version="1.0" encoding="UTF-8"?>']
  const { root } = machine
  const attributes = [
    ['xmlns', 'http://www.w3.org/2005/07/scxml'],
    ['xmlns:machine', 'urn:lupine:machine'],
    ['version', '1.0'],
    ['name', machine.id],
    // SCXML has no transitions on the document itself: the machine as a whole is its one state.
    ['initial', root.id],
  ] as const
  lines.push(openTag('scxml', attributes))
  writeElement(root, '  ', lines)
  lines.push('</scxml>')
  return `${lines.join('\n')}\n`
}

function writeElement(node: AnyStateNode, indent: string, lines: string[]): void {
  const element = node.type === 'atomic' || node.type === 'compound' ? 'state' : node.type
  const initial = node.type === 'compound' ? node.initial.target.map(({ id }) => id).join(' ') : ''
  lines.push(
    `${indent}${openTag(element, [
      ['id', node.id],
      ...(initial === '' ? [] : [['initial', initial] as const]),
      ...(node.type === 'history' ? [['type', node.history === 'deep' ? 'deep' : 'shallow'] as const] : []),
    ])}`,
  )
  const inner = `${indent}  `
  if (node.description !== undefined) lines.push(`${inner}${comment(node.description)}`)
  writeActions('onentry', node.entry.map(nameOf), inner, lines)
  writeActions('onexit', node.exit.map(nameOf), inner, lines)
  for (const { event, targets, guard, actions, description } of transitionsOf(node)) {
    const tag = openTag('transition', [
      ...(event === '' ? [] : [['event', event] as const]),
      ...(guard === undefined ? [] : [['cond', guard] as const]),
      ...(targets.length === 0 ? [] : [['target', targets.join(' ')] as const]),
    ])
    if (description !== undefined) lines.push(`${inner}${comment(description)}`)
    if (actions.length === 0) lines.push(`${inner}${tag.slice(0, -1)}/>`)
    else lines.push(`${inner}${tag}`, ...actionLines(actions, `${inner}  `), `${inner}</transition>`)
  }
  for (const child of childrenOf(node)) writeElement(child, inner, lines)
  lines.push(`${indent}</${element}>`)
}

function writeActions(element: string, actions: string[], indent: string, lines: string[]): void {
  if (actions.length === 0) return
  lines.push(`${indent}<${element}>`, ...actionLines(actions, `${indent}  `), `${indent}</${element}>`)
}

function actionLines(actions: string[], indent: string): string[] {
  return actions.map((name) => `${indent}<machine:action name="${escapeXml(name)}"/>`)
}

function openTag(name: string, attributes: readonly (readonly [string, string])[]): string {
  return `<${name}${attributes.map(([key, value]) => ` ${key}="${escapeXml(value)}"`).join('')}>`
}

/** `--` may not stand in a comment, nor `-` at its end. */
function comment(text: string): string {
  return `<!-- ${xmlCharacters(oneLine(text))
    .replace(/-(?=-)/g, '- ')
    .replace(/-$/, '- ')} -->`
}

const escapeXml = (text: string): string => escapeMarkup(xmlCharacters(text))

/** Control characters cannot be in XML at all, not even escaped. */
function xmlCharacters(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
}
