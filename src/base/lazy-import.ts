import { open } from 'node:fs/promises'
import { devNull } from 'node:os'

/** Files that one import has open at once, at most: a part of the program is in several, which are read together. */
const filesAtOnce = 8

/**
 * Loads a part of the program when it is first wanted, and hands out the same from then on. Rejects with what the system says
 * where it cannot be read, as while no file descriptor is left; the next call tries again.
 */
export function lazyImport<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined
  async function attempt(): Promise<T> {
    try {
      await requireDescriptors()
      return await load()
    } catch (error) {
      loading = undefined
      throw error
    }
  }
  return () => (loading ??= attempt())
}

/** Node 20 answers for ever what it has once answered to an import, so none begins that would find no descriptor. */
async function requireDescriptors(): Promise<void> {
  const opened = await Promise.allSettled(Array.from({ length: filesAtOnce }, () => open(devNull)))
  for (const each of opened) if (each.status === 'fulfilled') await each.value.close()
  for (const each of opened) if (each.status === 'rejected') throw each.reason
}
