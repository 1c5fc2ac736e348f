import { sessionLifetime } from './sessions.ts'

/** The cookie that carries a login. Pure. */

/**
 * A cookie goes to every port of a name, so the port is in its own: two hosts on one machine do not log each
 * other's users out. `__Host-` has browsers hold to `Secure` and to this host alone.
 */
export function cookieName(port: number, secure: boolean): string {
  return `${secure ? '__Host-' : ''}lupine-session-${port}`
}

export function sessionCookie(port: number, secure: boolean, id: string): string {
  return cookie(port, secure, id, Math.floor(sessionLifetime / 1_000))
}

/** Has the browser forget it. */
export function endedCookie(port: number, secure: boolean): string {
  return cookie(port, secure, '', 0)
}

function cookie(port: number, secure: boolean, value: string, seconds: number): string {
  const attributes = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
  return `${cookieName(port, secure)}=${value}; ${attributes}`
}

/** A `Cookie` header without the logins of any host of this kind. */
export function withoutSessions(header: string): string {
  const parts = header.split(';').map((part) => part.trim())
  return parts.filter((part) => !/^(__Host-)?lupine-session-/.test(part)).join('; ')
}

/**
 * The id in a `Cookie` header; undefined when there is none, or none of this host. `secure`: whether this host
 * encrypts its connections itself; else a proxy may, and what it was called by only the login knew.
 */
export function sessionIn(header: string | undefined, port: number, secure: boolean): string | undefined {
  const names = [cookieName(port, true), ...(secure ? [] : [cookieName(port, false)])]
  const found = new Map(
    (header ?? '').split(';').map((part) => {
      const equals = part.indexOf('=')
      return [part.slice(0, Math.max(0, equals)).trim(), part.slice(equals + 1).trim()]
    }),
  )
  return names.map((name) => found.get(name)).find((id) => id !== undefined)
}
