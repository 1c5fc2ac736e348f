import { isIP } from 'node:net'
import type { TcpTarget } from '../../schema/outside/connection.ts'
import { addressTimeoutWithin } from '../own-listeners.ts'
import type { Link, LinkContext, LinkEvents } from './link.ts'
import { createStreamLink } from './stream-link.ts'

/** Milliseconds after which the system asks a silent peer whether it is still there. */
const keepAliveDelay = 30_000

/** A TCP connection, with TLS if it is wanted. */
export function openTcp(target: TcpTarget, events: LinkEvents, { own, clock }: LinkContext): Link {
  const { port, tls, timeout, silence } = target
  const host = target.host.replace(/^\[|\]$/g, '')
  const options = {
    ...{ host, port, autoSelectFamilyAttemptTimeout: addressTimeoutWithin(timeout) },
    ...{ noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveDelay },
  }
  const serverName = tls?.serverName ?? (isIP(host) === 0 ? host : undefined)
  const stream =
    tls === undefined
      ? own.connect(options)
      : own.connectTls({
          ...options,
          rejectUnauthorized: !tls.insecure,
          ...(serverName === undefined ? {} : { servername: serverName }),
          ...(tls.certificates === undefined ? {} : { ca: tls.certificates }),
        })
  const opened = tls === undefined ? 'connect' : 'secureConnect'
  return createStreamLink({ stream, opened, timeout, silence, place: host, clock }, events)
}
