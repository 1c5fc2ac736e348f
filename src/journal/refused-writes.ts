import type { Logger } from '../base/log/log.ts'
import { messageOf, systemErrorCode } from '../base/problem.ts'
import { storageFault } from '../base/files/storage-fault.ts'

/** What is refused to every file of the disk alike: when another one is taken, so is the journal. */
const ofWholeDisk: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'])

/** Whether the disk has refused the last write to the journal. Nothing is written to find that out. */
export interface RefusedWrites {
  /** Why, in a sentence; undefined: it was taken. */
  readonly reason: string | undefined
  watch(write: Promise<unknown>): void
  /** Another file of the directory was written. */
  takenElsewhere(): void
  /** Hears of each refusal. */
  subscribe(listener: () => void): () => void
}

export function createRefusedWrites({
  logger,
  path,
  isInPlace,
}: {
  logger: Logger
  path: string
  /** Whether the file of the journal has its name, or has it again. Never rejects. */
  isInPlace(): Promise<boolean>
}): RefusedWrites {
  const listeners = new Set<() => void>()
  let refusal: { reason: string; code: string | undefined } | undefined

  function settle(): void {
    if (refusal === undefined) return
    refusal = undefined
    logger.info('The journal can be written again', { path })
  }

  return {
    get reason() {
      return refusal?.reason
    },
    watch(write) {
      write.then(settle, (error: unknown) => {
        refusal = { reason: storageFault(error) ?? messageOf(error), code: systemErrorCode(error) }
        for (const listener of listeners) listener()
      })
    },
    takenElsewhere() {
      const before = refusal
      if (ofWholeDisk.has(before?.code)) settle()
      // The directory is the one that it was, which says nothing of the file.
      else if (before?.code === 'ESTALE')
        void isInPlace().then((isBack) => {
          if (isBack && refusal === before) settle()
        })
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
