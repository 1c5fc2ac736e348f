/** Bytes of the service or target that is searched for. */
export const searchedTextLimit = 255
/** Seconds for which a plugin may look at most. */
export const secondsLimit = 10 ** 9

/** What was found on the network. */
export interface FoundService {
  /** Of DNS-SD the name of the instance, of SSDP the unique service name. */
  name: string
  host: string
  addresses: string[]
  port?: number
  /** Values are bytes: each character is one. */
  txt: [key: string, value: string][]
}

/** As a plugin is told. */
export interface Finding extends FoundService {
  gone: boolean
}

const serviceType = /^(?:[^.\s]{1,63}\._sub\.)?_[a-z0-9-]{1,62}\._(?:tcp|udp)$/i
/** A search target goes into a header as it is. */
const searchTarget = /^[\x21-\x7e]+$/

/** In small letters, without the domain; undefined: it is no service of DNS-SD (`_http._tcp`). */
export function readServiceType(text: string): string | undefined {
  const type = text
    .trim()
    .replace(/\.$/, '')
    .replace(/\.local$/i, '')
  return type.length <= searchedTextLimit && serviceType.test(type) ? type.toLowerCase() : undefined
}

/** What the permission is asked for: a kind of a service is part of the service. */
export function permittedService(service: string): string {
  return service.replace(/^.*\._sub\./, '')
}

/** Undefined: it is no search target of SSDP (`ssdp:all`, `upnp:rootdevice`, `urn:…`). */
export function readSearchTarget(text: string): string | undefined {
  const target = text.trim()
  return target.length <= searchedTextLimit && searchTarget.test(target) ? target : undefined
}
