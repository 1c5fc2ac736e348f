import { createElapsedTime, type ElapsedTime } from '../../base/time/elapsed-time.ts'
import type { HttpAddress } from './http-address.ts'

/** Cookies of one plugin; the one that was set longest ago makes room. */
const cookiesLimit = 300
/** Bytes of a name with its value. */
const cookieBytes = 4_096

/**
 * Cookies in memory, a jar a plugin. Each goes back to the host (name and port) that has set it, below its path, and
 * nowhere else: `Domain` is not heeded, or one service of a machine would get the logins of another.
 */
export interface CookieJars {
  /** Value of the `Cookie` header; undefined when there is none for this address. */
  header(plugin: string, address: HttpAddress): string | undefined
  /** Takes over what an answer sets. */
  save(plugin: string, address: HttpAddress, setCookies: readonly string[]): void
  forget(plugin: string): void
}

interface Cookie {
  origin: string
  path: string
  name: string
  value: string
  secure: boolean
  /** Milliseconds since 1970; undefined: as long as the jar, or `over` says it. */
  expires: number | undefined
  /** The same for an age: of a clock that does not jump, since none that is set makes it older. */
  over: number | undefined
}

export function createCookieJars(now: () => number, elapsed: ElapsedTime = createElapsedTime()): CookieJars {
  const jars = new Map<string, Map<string, Cookie>>()
  const isOver = ({ expires, over }: Cookie): boolean =>
    (expires !== undefined && expires <= now()) || (over !== undefined && over <= elapsed())

  return {
    header(plugin, address) {
      const [path = ''] = address.path.split('?', 1)
      const fitting = [...(jars.get(plugin)?.values() ?? [])].filter(
        (cookie) =>
          cookie.origin === address.host &&
          isBelow(path, cookie.path) &&
          (!cookie.secure || address.protocol === 'https:') &&
          !isOver(cookie),
      )
      if (fitting.length === 0) return undefined
      // The longest path first, as servers expect it.
      return fitting
        .sort((a, b) => b.path.length - a.path.length)
        .map(({ name, value }) => `${name}=${value}`)
        .join('; ')
    },
    save(plugin, address, setCookies) {
      const jar = jars.get(plugin) ?? new Map<string, Cookie>()
      for (const text of setCookies) {
        const cookie = readCookie(text, address, elapsed())
        if (cookie === undefined) continue
        const key = JSON.stringify([cookie.origin, cookie.path, cookie.name])
        jar.delete(key)
        if (!isOver(cookie)) jar.set(key, cookie)
      }
      for (const key of jar.keys()) {
        if (jar.size <= cookiesLimit) break
        jar.delete(key)
      }
      if (jar.size > 0) jars.set(plugin, jar)
      else jars.delete(plugin)
    },
    forget: (plugin) => void jars.delete(plugin),
  }
}

/** Whether a path is that of a cookie, or below it (RFC 6265, 5.1.4). */
function isBelow(path: string, above: string): boolean {
  return path === above || (path.startsWith(above) && (above.endsWith('/') || path[above.length] === '/'))
}

/** One `Set-Cookie` header (RFC 6265, 5.2 and 5.3); undefined when it sets nothing. */
function readCookie(text: string, address: HttpAddress, elapsed: number): Cookie | undefined {
  const [pair = '', ...attributes] = text.split(';')
  const equals = pair.indexOf('=')
  const name = pair.slice(0, Math.max(0, equals)).trim()
  const value = pair.slice(equals + 1).trim()
  if (name === '' || /[\u0000-\u001f\u007f]/.test(pair) || pair.length > cookieBytes) return undefined
  const cookie: Cookie = {
    ...{ origin: address.host, path: defaultPath(address), name, value },
    ...{ secure: false, expires: undefined, over: undefined },
  }
  let age: number | undefined
  for (const attribute of attributes) {
    const [key = '', ...rest] = attribute.split('=')
    const given = rest.join('=').trim()
    switch (key.trim().toLowerCase()) {
      case 'path':
        if (given.startsWith('/')) cookie.path = given
        break
      case 'secure':
        cookie.secure = true
        break
      case 'expires':
        if (!Number.isNaN(Date.parse(given))) cookie.expires = Date.parse(given)
        break
      case 'max-age':
        if (/^-?\d+$/.test(given)) age = Number(given)
        break
    }
  }
  return age === undefined ? cookie : { ...cookie, expires: undefined, over: elapsed + age * 1_000 }
}

/** The folder of the path that has been asked for. */
function defaultPath({ path }: HttpAddress): string {
  const [bare = ''] = path.split('?', 1)
  return bare.slice(0, Math.max(1, bare.lastIndexOf('/')))
}
