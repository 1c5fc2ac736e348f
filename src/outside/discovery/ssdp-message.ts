import type { RemoteInfo } from 'node:dgram'
import { hostOfAddress } from '../../base/network/loopback.ts'
import { portOf } from '../../base/network/url-port.ts'
import type { Txt } from './txt-record.ts'

/** What an SSDP message says (UPnP Device Architecture 2.0, section 1). */
export interface SsdpMessage {
  /** What it is about: a search target, and the name that nothing else has. */
  target: string
  name: string
  isGone: boolean
  seconds: number
  /** Where its description is. */
  host: string
  port: number | undefined
  /** Its other headers, names in small letters. */
  headers: Txt
}

/** Bytes of one message. */
const messageLimit = 8_192
/** Headers of one message, and those that are kept of one thing, with their bytes. */
const headerLimit = 40
const headerBytes = 4_096
const nameLimit = 255
/** Seconds that something is believed that does not say so. */
const defaultSeconds = 1_800
/** They change with each message, or say nothing of the thing itself. */
const passing = ['host', 'date', 'ext', 'man', 'mx', 'nt', 'nts', 'st', 'cache-control', 'content-length']

/** Undefined: it is no announcement and no answer. */
export function readSsdp(message: Buffer, { address }: Pick<RemoteInfo, 'address'>): SsdpMessage | undefined {
  if (message.length > messageLimit) return undefined
  const [first = '', ...lines] = message.toString('latin1').split(/\r?\n/, headerLimit + 1)
  const isAnswer = /^HTTP\/1\.[01] 200\b/i.test(first)
  if (!isAnswer && !/^NOTIFY \* HTTP\/1\.[01]\s*$/i.test(first)) return undefined
  const headers = new Map<string, string>()
  for (const line of lines) {
    if (line === '') break
    const at = line.indexOf(':')
    const name = line.slice(0, at).trim().toLowerCase()
    if (at > 0 && /^[\x21-\x7e]+$/.test(name) && !headers.has(name))
      headers.set(name, line.slice(at + 1).trim())
  }
  const target = headers.get(isAnswer ? 'st' : 'nt') ?? ''
  const name = headers.get('usn') ?? ''
  const subject = isAnswer ? 'ssdp:alive' : headers.get('nts')?.toLowerCase()
  if (target === '' || name === '' || name.length > nameLimit || target.length > nameLimit) return undefined
  if (subject !== 'ssdp:alive' && subject !== 'ssdp:byebye' && subject !== 'ssdp:update') return undefined
  return {
    ...{ target, name: Buffer.from(name, 'latin1').toString(), isGone: subject === 'ssdp:byebye' },
    seconds: Number(
      /max-age\s*=\s*"?(\d{1,9})/i.exec(headers.get('cache-control') ?? '')?.[1] ?? defaultSeconds,
    ),
    ...placeOf(headers.get('location') ?? headers.get('al') ?? '', address),
    headers: kept(headers),
  }
}

function placeOf(location: string, address: string): Pick<SsdpMessage, 'host' | 'port'> {
  if (!/^https?:/i.test(location) || !URL.canParse(location)) return { host: address, port: undefined }
  return { host: hostOfAddress(location), port: portOf(location) }
}

function kept(headers: ReadonlyMap<string, string>): Txt {
  return firstHeaders([...headers].filter(([name]) => !passing.includes(name)))
}

/** As many as are kept of one thing. */
export function firstHeaders(headers: Txt): Txt {
  let bytes = 0
  return headers.slice(0, headerLimit).filter(([name, value]) => {
    bytes += name.length + value.length
    return bytes <= headerBytes
  })
}

/** `seconds`: within which an answer may come. */
export function writeSearch(target: string, group: string, port: number, seconds: number): Buffer {
  const lines = [
    'M-SEARCH * HTTP/1.1',
    `HOST: ${group.includes(':') ? `[${group}]` : group}:${port}`,
    'MAN: "ssdp:discover"',
    `MX: ${seconds}`,
    `ST: ${target}`,
    '',
    '',
  ]
  return Buffer.from(lines.join('\r\n'), 'latin1')
}
