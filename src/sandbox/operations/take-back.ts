import type { TaskQueue } from '../flow/scheduler.ts'
import type { OperationDispatcher } from './operation-dispatcher.ts'

/** Takes back what a plugin has with the host. In slices: it may have ten thousand of each kind of thing. */
export async function takeBack(
  dispatcher: Pick<OperationDispatcher, 'release' | 'serve'>,
  tasks: TaskQueue,
): Promise<void> {
  await tasks.idle()
  const left = dispatcher.release()
  if (left.length === 0) return
  let taken = 0
  tasks.add(() => {
    const operation = left[taken]
    taken += 1
    if (operation !== undefined) dispatcher.serve(operation)
    return taken >= left.length
  })
  await tasks.idle()
}
