import { type AnyStateMachine, createActor, type EventFrom, type SnapshotFrom } from 'xstate'

/**
 * The machine's own transition, as XState's `transition()` calls it, but with surroundings that are made once:
 * `transition()` makes an actor for every event, which is four fifths of its time. Nothing of the surroundings
 * reaches the next snapshot, because a machine of the journal starts no children and sends nothing.
 */
export function createStep<M extends AnyStateMachine>(
  machine: M,
): (snapshot: SnapshotFrom<M>, event: EventFrom<M>) => SnapshotFrom<M> {
  const actor = createActor<AnyStateMachine>(machine)
  const nothing = (): void => undefined
  const scope: Parameters<AnyStateMachine['transition']>[2] = {
    self: actor,
    system: actor.system,
    id: '',
    sessionId: '',
    logger: nothing,
    defer: nothing,
    emit: nothing,
    stopChild: nothing,
    actionExecutor: nothing,
  }
  // The machine's own types are lost on the way through AnyStateMachine.
  return (snapshot, event) => machine.transition(snapshot, event, scope) as SnapshotFrom<M>
}
