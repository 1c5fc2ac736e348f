import type { AddressInfo } from 'node:net'
import { systemErrorCode } from '../../base/problem.ts'

export function isAddress(address: AddressInfo | string | null | undefined): address is AddressInfo {
  return typeof address === 'object' && address !== null
}

/** The host part of a URL that reaches a listener at this address from this machine. */
export function urlHost(bind: string): string {
  if (bind === '0.0.0.0') return '127.0.0.1'
  if (bind === '::') return '[::1]'
  return bind.includes(':') ? `[${bind}]` : bind
}

/** One sentence for the person who starts the host: what is wrong, and which setting helps. */
export function listenError(error: unknown, bind: string, port: number): Error {
  const code = systemErrorCode(error)
  const sentence =
    code === 'EADDRINUSE'
      ? `MQTT port ${port} at ${bind} is in use: set HOST_MQTT_PORT to another one, or to 0 for any free port`
      : code === 'EACCES'
        ? `MQTT port ${port} at ${bind} needs privileges: set HOST_MQTT_PORT to one above 1023, or to 0 for any`
        : `Cannot listen for MQTT at ${bind} (${code ?? String(error)}): set HOST_MQTT_BIND to an address of this machine`
  return new Error(sentence, { cause: error })
}
