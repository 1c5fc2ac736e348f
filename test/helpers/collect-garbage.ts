import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** Lets go of all memory that nothing refers to any more, so that what is left can be measured. */
export const collectGarbage = runInNewContext('gc') as () => void
