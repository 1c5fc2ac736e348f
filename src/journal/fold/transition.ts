import type { AnyMachineSnapshot, AnyStateMachine, AnyStateNode, EventFrom, SnapshotFrom } from 'xstate'

type AnyEvent = { type: string }
type Context = Record<string, unknown>
/** A guard, or what an assignment gives to the context or to one member of it. */
type Expression = (given: { context: Context; event: AnyEvent }) => unknown
type Assignment = Expression | Record<string, unknown>

/** One transition; of several for the same event, the first whose guard is met applies. */
interface Rule {
  guard: Expression | undefined
  /** Undefined: the state stays. */
  target: string | undefined
  assignments: Assignment[]
}

/**
 * The machine's own transition, read off its definition, without the surroundings that XState's `transition()` makes
 * anew for each event: they are for children, timers and nested states, which a machine of the journal must not
 * have, and take nine tenths of its time. What is left is to find the transition and to run its assignments.
 * The transition answers undefined when the machine does not take the event now. Throws for a machine that has more.
 */
export function createTransition<M extends AnyStateMachine>(
  machine: M,
): (snapshot: SnapshotFrom<M>, event: EventFrom<M>) => SnapshotFrom<M> | undefined {
  const { root } = machine as { root: AnyStateNode }
  const names = Object.keys(root.states)
  const general = rulesOf(machine, root)
  const rules = new Map(names.map((name) => [name, rulesOf(machine, stateNode(root, name))]))
  /** A snapshot in each of the states; only the context is missing. */
  const empty = new Map<string, AnyMachineSnapshot>(
    names.map((value) => [value, machine.resolveState({ value, context: {} })]),
  )

  function transition(snapshot: AnyMachineSnapshot, event: AnyEvent): AnyMachineSnapshot | undefined {
    const value = snapshot.value as string
    let context = snapshot.context as Context
    const rule = choose(rules.get(value), context, event) ?? choose(general, context, event)
    if (rule === undefined) return undefined
    for (const assignment of rule.assignments) context = assigned(assignment, context, event)
    const next = empty.get(rule.target ?? value)
    return next && { ...next, context }
  }

  // The machine's own types are lost on the way through AnyStateMachine.
  return transition as (snapshot: unknown, event: unknown) => SnapshotFrom<M> | undefined
}

function choose(
  rules: ReadonlyMap<string, readonly Rule[]> | undefined,
  context: Context,
  event: AnyEvent,
): Rule | undefined {
  return rules
    ?.get(event.type)
    ?.find(({ guard }) => guard === undefined || guard({ context, event }) === true)
}

function assigned(assignment: Assignment, context: Context, event: AnyEvent): Context {
  const given = { context, event }
  if (typeof assignment === 'function') return { ...context, ...(assignment(given) as Context) }
  const next = { ...context }
  for (const [name, value] of Object.entries(assignment)) {
    next[name] = typeof value === 'function' ? (value as Expression)(given) : value
  }
  return next
}

function stateNode(root: AnyStateNode, name: string): AnyStateNode {
  const node = root.states[name] as AnyStateNode
  const { type, entry, exit, invoke, always, after } = node
  const extras = [entry, exit, invoke, always ?? [], after]
  if (type === 'atomic' && extras.every(({ length }) => length === 0)) return node
  throw new TypeError(`The state ${node.id} is more than a name with transitions`)
}

function rulesOf(machine: AnyStateMachine, node: AnyStateNode): ReadonlyMap<string, readonly Rule[]> {
  const { guards, actions } = machine.implementations as { guards: unknown; actions: unknown }
  return new Map(
    Object.entries(node.on).map(([type, transitions]) => [
      type,
      transitions.map(({ guard, target, actions: names }): Rule => ({
        guard: guard === undefined ? undefined : (implementation(guards, guard) as Expression),
        target: target?.[0]?.key,
        assignments: names.map((name) => assignmentOf(implementation(actions, name))),
      })),
    ]),
  )
}

function implementation(from: unknown, name: unknown): unknown {
  const found = typeof name === 'string' ? (from as Record<string, unknown>)[name] : undefined
  if (typeof found === 'function') return found
  throw new TypeError(`The machine has something that is not named: ${String(name)}`)
}

function assignmentOf(action: unknown): Assignment {
  if (typeof action === 'function' && 'assignment' in action) return action.assignment as Assignment
  throw new TypeError('The machine has an action that is no assignment')
}
