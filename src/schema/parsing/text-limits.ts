/**
 * How long a text may be that crosses from a worker: bytes of UTF-8. A worker refuses what is longer, with an error to
 * the plugin; where one asks all the same, the host takes it for nonsense. What is only shown (log lines, errors,
 * tracebacks) is cut instead, to `messageBytesLimit`, on both sides.
 */
export const textLimits = {
  /** Names of events, paths of objects, ids of sensors and controls, keys of stored values. */
  name: 4 * 1024,
  /** As MQTT writes its length. */
  topic: 65_535,
  /** Ids of plugins: two parts of 64, and what joins them. */
  pluginId: 200,
  /** What is shown of an exposure: its name, area, unit, each of its options. */
  label: 512,
  /** Times, and words of the protocol itself. */
  word: 64,
  url: 64 * 1024,
  /** A name of the DNS. */
  hostName: 253,
  /** Names and values of all headers of a request. */
  headerBlock: 64 * 1024,
} as const

export function fits(text: string, bytes: number): boolean {
  // A character of UTF-16 has one byte at least, and three at most.
  return text.length <= bytes && (text.length * 3 <= bytes || new TextEncoder().encode(text).length <= bytes)
}
