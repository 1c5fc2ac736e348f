import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isLoopback } from '../base/loopback.ts'
import { Problem } from '../base/problem.ts'

/** Who may call (contract, section 3). */
export interface Access {
  /** Throws `forbidden` for what a web page of somebody else could have sent. */
  checkSender(request: IncomingMessage): void
  /** Throws `unauthorized` when a token is needed and this is not it. */
  checkToken(headers: IncomingHttpHeaders): void
}

export interface AccessSettings {
  token: string | undefined
  bind: string
  /** The port that is listened at; known only after the start. */
  port: () => number
}

export function createAccess({ token, bind, port }: AccessSettings): Access {
  const expected = token === undefined ? undefined : digest(token)

  /** Whether `host:port` names this host: its loopback names, or the address it listens at. */
  function isThisHost(authority: string): boolean {
    const [, name, digits] = /^(\[[^\]]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(authority.toLowerCase()) ?? []
    if (name === undefined || Number(digits ?? 80) !== port()) return false
    return isLoopback(name) || name === bind.toLowerCase() || name === `[${bind.toLowerCase()}]`
  }

  return {
    checkSender({ headers, method, url = '' }) {
      // A token cannot be guessed by a page elsewhere, and with one the host may have any name.
      if (token !== undefined) return
      if (!isThisHost(headers.host ?? '')) {
        throw new Problem(
          'forbidden',
          'The Host header is not an address of this host. Call it by the address it listens at, or set HOST_TOKEN.',
        )
      }
      const { origin } = headers
      if (origin !== undefined && !(origin.startsWith('http://') && isThisHost(origin.slice(7)))) {
        throw new Problem('forbidden', 'Web pages of another origin may not call this host.')
      }
      const site = headers['sec-fetch-site']
      const elsewhere = site === 'cross-site' || site === 'same-site'
      if (elsewhere && !isLinkToPage(method, url, headers)) {
        throw new Problem('forbidden', 'Web pages of another site may not call this host.')
      }
    },
    checkToken({ authorization = '' }) {
      if (expected === undefined) return
      const [, given] = /^bearer +(\S+) *$/i.exec(authorization) ?? []
      // Digests have one length, so that the comparison tells nothing of the token, not even its length.
      if (given !== undefined && timingSafeEqual(digest(given), expected)) return
      throw new Problem('unauthorized', 'Send the host token as "Authorization: Bearer …".')
    },
  }
}

/** Somebody followed a link from another site to a page of the user interface: harmless, as it only shows. */
function isLinkToPage(method: string | undefined, url: string, headers: IncomingHttpHeaders): boolean {
  return (
    method === 'GET' &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document' &&
    !url.startsWith('/api/')
  )
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
