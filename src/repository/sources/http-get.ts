import { lookup as systemLookup } from 'node:dns'
import { Agent, type IncomingMessage, request } from 'node:http'
import { Agent as SecureAgent, request as requestSecurely } from 'node:https'
import type { LookupFunction, Socket } from 'node:net'
import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { guardLookup } from '../../base/network/guarded-lookup.ts'
import { canonicalAddress, kindOfAddress } from '../../base/network/ip-address.ts'
import { systemErrorCode } from '../../base/problem.ts'
import { SourceError } from './source.ts'

/** Milliseconds for which a connection is kept for the next file. */
const keptIdle = 4_000

/** How names and addresses are looked at. Tests bring their own: they have no network. */
export interface Network {
  lookup: LookupFunction
  /** Whether the address is one of the whole internet, not of a home or of this machine. */
  isPublic(address: string): boolean
}

export const systemNetwork: Network = {
  lookup: systemLookup,
  isPublic: (address) => kindOfAddress(address) === 'public',
}

export interface GetOptions {
  headers: Readonly<Record<string, string>>
  signal: AbortSignal
  /** Why there may be no connection to this address, after a name was resolved; undefined: there may. */
  refuse(address: string): Error | undefined
}

export interface Response {
  status: number
  headers: Readonly<Record<string, string | undefined>>
  /** Decoded, unless `unknownEncoding` says otherwise. Has to be read or destroyed. */
  body: Readable
  /** How it is encoded, where that is nothing that was asked for. */
  unknownEncoding: string | undefined
  /** Whether who answered is on the internet. */
  public: boolean
}

/** Asks for addresses, one answer each: redirects are not followed. */
export type HttpGet = (address: URL, options: GetOptions) => Promise<Response>

const decoders: Readonly<Record<string, () => NodeJS.ReadWriteStream & Readable>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/** How a connection that was kept fails when the server has closed it. */
const staleCodes: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'EPIPE'])

export function createHttpGet({ lookup, isPublic }: Network): HttpGet {
  const agents = {
    'http:': new Agent({ keepAlive: true, timeout: keptIdle }),
    'https:': new SecureAgent({ keepAlive: true, timeout: keptIdle }),
  }

  const ask = (address: URL, options: GetOptions, kept: boolean): Promise<Response> =>
    new Promise((resolve, reject) => {
      const { headers, signal, refuse } = options
      const literal = canonicalAddress(address.hostname)
      const refusal = literal === undefined ? undefined : refuse(literal)
      if (refusal !== undefined) {
        reject(refusal)
        return
      }
      const secure = address.protocol === 'https:'
      let answered = false
      const asked = (secure ? requestSecurely : request)(address, {
        agent: kept && agents[secure ? 'https:' : 'http:'],
        headers: { ...headers, 'accept-encoding': 'gzip, deflate, br' },
        lookup: guardLookup(lookup, (found) => found.map(refuse).find((reason) => reason !== undefined)),
        signal,
      })
      // One that was kept was opened for another question, perhaps to an address that is not to be asked this one.
      asked.once('socket', (socket: Socket) => {
        const reason = socket.remoteAddress === undefined ? undefined : refuse(socket.remoteAddress)
        if (reason !== undefined) asked.destroy(reason)
      })
      asked.once('error', (error) => {
        // The server closed it at that moment, or closes each without saying so.
        const isStale = !answered && asked.reusedSocket && staleCodes.has(systemErrorCode(error))
        if (isStale && !signal.aborted) resolve(ask(address, options, false))
        else reject(error)
      })
      // One that answers in another protocol, which nobody asked for: Node ends the connection, and says no more.
      asked.once('close', () => reject(new SourceError('it goes over to another protocol; check the server')))
      asked.once('response', (response) => {
        answered = true
        // Node takes an answer without a length for whole when its connection breaks off.
        asked.once('error', (error) => {
          if (!response.complete) response.destroy(error)
        })
        resolve({
          status: response.statusCode ?? 0,
          headers: plainHeaders(response),
          ...decoded(response),
          public: isPublic(response.socket.remoteAddress ?? ''),
        })
      })
      asked.end()
    })

  return (address, options) => ask(address, options, true)
}

function plainHeaders({ headers }: IncomingMessage): Response['headers'] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )
}

function decoded(response: IncomingMessage): Pick<Response, 'body' | 'unknownEncoding'> {
  const given = response.headers['content-encoding']?.toLowerCase().split(',') ?? []
  // Some proxies leave empty members, or say of no encoding that it is one.
  const encodings = given.map((name) => name.trim()).filter((name) => name !== '' && name !== 'identity')
  if (encodings.length === 0) return { body: response, unknownEncoding: undefined }
  const encoding = encodings.join(', ')
  const create = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined
  if (create === undefined) return { body: response, unknownEncoding: encoding }
  const decoder = create()
  pipeline(response, decoder, () => undefined)
  return { body: decoder, unknownEncoding: undefined }
}
