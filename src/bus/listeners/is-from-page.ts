import type { IncomingMessage } from 'node:http'

/** Whether a WebSocket was opened by a web page. Every browser says whose page it is, and the page cannot prevent that. */
export function isFromPage(request: IncomingMessage | undefined): boolean {
  return request?.headers.origin !== undefined
}
