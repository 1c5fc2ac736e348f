import { Problem } from '../../base/problem.ts'
import { IsolateError } from '../isolate.ts'
import { outsideBytes, type SandboxLimits } from '../limits.ts'

/** What is said of a plugin that ended, or is not there. */

export function notRunning(plugin: string): Problem {
  return new Problem('invalid_transition', `The plugin ${plugin} is not running.`)
}

export function loadTimeout(limits: SandboxLimits): IsolateError {
  const seconds = limits.loadDeadline / 1000
  return new IsolateError('load_timeout', `init.lua and onInit took longer than ${seconds} s`)
}

/** `heapMegabytes`: of its worker. */
export function tooManyStrings(limits: SandboxLimits, heapMegabytes: number): IsolateError {
  const megabytes = outsideBytes(limits, heapMegabytes) / 1024 / 1024
  const share =
    megabytes < limits.ownStringMegabytes
      ? `twice its ${heapMegabytes} MB of memory (limit memory)`
      : 'the most that one plugin may have of this machine'
  return new IsolateError(
    'out_of_memory',
    `the plugin kept more than ${Math.floor(megabytes)} MB of strings, ${share}, and was ended`,
  )
}

/** In a worker that it shares. */
export function tooMuchTogether(limits: SandboxLimits): IsolateError {
  const megabytes = Math.floor(limits.sharedHeapMegabytes * limits.sharedMemoryShare)
  return new IsolateError(
    'out_of_memory',
    `the plugins that share its worker used more than ${megabytes} MB of memory (limit memory), of which it had most`,
  )
}
