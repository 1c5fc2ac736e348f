/** Requests from outside to handlers of plugins; without schemas, so that workers can use it too. */

/** Who may call: who knows the address, who has the host's token, anybody. */
export const hookAuths = ['secret', 'token', 'none'] as const
export type HookAuth = (typeof hookAuths)[number]

/** Bytes of a handler's path. */
export const hookPathLimit = 500
/** Methods that one handler may list. */
export const hookMethodsLimit = 20
export const hookMethodPattern = '^[A-Z-]{1,20}$'

/** Bytes of a request's body; more is answered with 413. */
export const hookBodyLimit = 1024 * 1024
/** Bytes of an answer's body: a picture of a camera, not a film. */
export const hookAnswerLimit = 5 * 1024 * 1024
/** Milliseconds from the call of a handler to its answer. */
export const hookAnswerTime = 10_000

/**
 * Headers that an answer may have. The answer comes from the same origin as the pages of the host, so all that a
 * browser would take for a rule about that origin (cookies, stored data, encryption, other servers) is not the
 * plugin's to say; and browsers learn more of those each year, so it is this list that is written down.
 */
const answerHeaders: ReadonlySet<string> = new Set([
  ...[
    'allow',
    'cache-control',
    'content-disposition',
    'content-encoding',
    'content-language',
    'content-type',
  ],
  ...['date', 'etag', 'expires', 'last-modified', 'link', 'location', 'pragma', 'retry-after', 'vary'],
  ...['www-authenticate', 'accept-ranges', 'content-range', 'age', 'warning'],
])
const answerHeaderPrefixes = ['x-', 'webhook-', 'access-control-']
/**
 * Begin with a prefix, and are rules about the page all the same; or commands to a proxy in front, which would send a file
 * of its own machine in place of the answer (nginx, Apache, lighttpd, LiteSpeed).
 */
const rules: ReadonlySet<string> = new Set([
  ...['x-frame-options', 'x-content-type-options', 'x-xss-protection', 'x-dns-prefetch-control'],
  ...['x-permitted-cross-domain-policies', 'x-robots-tag', 'x-download-options'],
  ...['x-sendfile', 'x-sendfile2', 'x-lighttpd-send-file', 'x-lighttpd-send-tempfile'],
])
const rulePrefixes = ['x-accel-', 'x-litespeed-', 'x-reproxy-']

/** Whether an answer of a plugin may have this header. */
export function isHookAnswerHeader(name: string): boolean {
  const lower = name.toLowerCase()
  if (rules.has(lower) || rulePrefixes.some((prefix) => lower.startsWith(prefix))) return false
  return answerHeaders.has(lower) || answerHeaderPrefixes.some((prefix) => lower.startsWith(prefix))
}
