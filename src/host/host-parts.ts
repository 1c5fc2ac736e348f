import type { FileSystem } from '../base/files/file-system.ts'
import type { KeyRing } from '../base/keys/key-ring.ts'
import type { Logger } from '../base/log/log.ts'
import type { Clock } from '../base/time/clock.ts'

/** What all parts of the host work with. */
export interface HostParts {
  /** The data directory. */
  directory: string
  files: FileSystem
  clock: Clock
  logger: Logger
  ring: KeyRing
}
