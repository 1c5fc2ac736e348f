import { sessionLifetime } from './sessions.ts'

/** The cookie that carries a login. Pure. `secure`: the browser's side of the way is encrypted. */
export interface SessionCookies {
  of(id: string, secure: boolean): string
  /** Has the browser forget it. */
  ended(secure: boolean): string
  /**
   * The id in a `Cookie` header; undefined when there is none, or none of this host. `secure`: whether this host
   * encrypts its connections itself; else a proxy may, and what it was called by only the login knew.
   */
  idIn(header: string | undefined, secure: boolean): string | undefined
}

interface SessionCookieSettings {
  port: () => number
  /** Where browsers send it: `/`, or a part of a name that this host shares with others, who shall not get it. */
  path: string
}

export function createSessionCookies({ port, path }: SessionCookieSettings): SessionCookies {
  /**
   * A cookie goes to every port of a name, so the port is in its own: two hosts on one machine do not log each
   * other's users out. `__Host-` has browsers hold to `Secure` and to this host alone; with a path they refuse it.
   */
  function nameOf(secure: boolean): string {
    const prefix = path === '/' ? '__Host-' : '__Secure-'
    return `${secure ? prefix : ''}lupine-session-${port()}`
  }

  function cookie(secure: boolean, value: string, seconds: number): string {
    const attributes = `Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
    return `${nameOf(secure)}=${value}; ${attributes}`
  }

  return {
    of: (id, secure) => cookie(secure, id, Math.floor(sessionLifetime / 1_000)),
    ended: (secure) => cookie(secure, '', 0),
    idIn(header, secure) {
      const names = [nameOf(true), ...(secure ? [] : [nameOf(false)])]
      const found = new Map<string, string>()
      for (const part of (header ?? '').split(';')) {
        const equals = part.indexOf('=')
        const name = part.slice(0, Math.max(0, equals)).trim()
        // Of several the one of the longest path comes first (RFC 6265): another may be another host's, at the root.
        if (!found.has(name)) found.set(name, part.slice(equals + 1).trim())
      }
      return names.map((name) => found.get(name)).find((id) => id !== undefined)
    },
  }
}

/** A `Cookie` header without the logins of any host of this kind. */
export function withoutSessions(header: string): string {
  const parts = header.split(';').map((part) => part.trim())
  return parts.filter((part) => !/^(__(Host|Secure)-)?lupine-session-/.test(part)).join('; ')
}
