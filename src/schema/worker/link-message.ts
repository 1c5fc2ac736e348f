import type { PluginOperation } from './plugin-call-limits.ts'
import type { SerializedValues } from './plugin-call.ts'

/** What two workers say to each other on a link. */
export interface LinkMessage {
  /**
   * `call`: with its arguments. `cancel`: nobody waits for the answer any more. `answer`: with the results. `failure`: the
   * body is the message, as text. Any other is none that a link carries.
   */
  kind: 'call' | 'cancel' | 'answer' | 'failure' | 'question' | 'callAnswered'
  /** The caller's number for the call. */
  number: number
  serialized: SerializedValues
  operation?: PluginOperation
  depth?: number
}
