import { setFlagsFromString } from 'node:v8'
import { lazily } from '../../base/lazily.ts'

/**
 * Has V8 give workers that are started from now on a function that collects garbage: what a large plugin leaves behind in
 * a worker that goes on would else stay until that worker needs the room. V8 takes a code cache only under the flags
 * under which it was made, so the build sets it, too.
 */
export const letWorkersCollect = lazily(() => {
  setFlagsFromString('--expose-gc')
})
