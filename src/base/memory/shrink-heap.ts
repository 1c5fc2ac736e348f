import { getHeapSpaceStatistics } from 'node:v8'

/** Bytes of room for new objects above which it pays: a small process stays far below. */
const worthShrinking = 16 * 1024 * 1024

const roomForNewObjects = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0

/**
 * Gives the room back to the system that this thread's heap has taken for new objects, after something that made many at
 * once: V8 keeps it for good otherwise, also where hardly any are made afterwards. Only the inspector has a call for it in
 * all versions of Node. It takes some tens of milliseconds of this thread, and nothing where there is little room.
 */
export async function shrinkHeap(): Promise<void> {
  if (roomForNewObjects() <= worthShrinking) return
  const { Session } = await import('node:inspector')
  const session = new Session()
  session.connect()
  await new Promise<void>((resolve, reject) =>
    session.post('HeapProfiler.collectGarbage', (error) => (error === null ? resolve() : reject(error))),
  ).finally(() => session.disconnect())
}
