import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import type { Context } from 'koa'
import type { Clock } from '../../base/time/clock.ts'
import { asStorageProblem } from '../../base/files/storage-fault.ts'
import { lazyImport } from '../../base/lazy-import.ts'
import { messageOf, Problem } from '../../base/problem.ts'
import { parseJsonText, requireUnique } from '../../schema/parsing/json-text.ts'

/** Largest request body in bytes, also of one that is sent in chunks or compressed (contract, section 3). */
const bodyLimit = 1024 * 1024

/** How long, in milliseconds, a client may go on sending after its body was refused, so that it can read why. */
const lingerTime = 1_000
/** How many bytes of a refused body are read and thrown away before the connection is cut, and in how many pieces. */
const lingerBytes = 16 * 1024 * 1024
export const lingerPieces = 16 * 1024

const jsonTypes = ['json', '+json']

/** Loaded with the first body. As bytes ("binary" is one character a byte), because JSON must be UTF-8 and is checked to be. */
const bodyReader = lazyImport(async () => {
  const { HttpMethodEnum, koaBody } = await import('koa-body')
  return koaBody({
    text: true,
    textTypes: jsonTypes,
    textLimit: bodyLimit,
    encoding: 'binary',
    json: false,
    urlencoded: false,
    multipart: false,
    parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PUT],
  })
})

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** The JSON value of the request's body; undefined when there is none. Throws `Problem`s. */
export async function readJsonBody(context: Context): Promise<unknown> {
  if (!hasBody(context.req)) return undefined
  const charset = context.request.charset.toLowerCase()
  if (!context.is(jsonTypes) || (charset !== '' && charset !== 'utf-8' && charset !== 'utf8')) {
    throw new Problem(
      'unsupported_media_type',
      'The body must be UTF-8 JSON; send it with Content-Type: application/json.',
    )
  }
  const readBytes = await asStorageProblem(bodyReader)
  try {
    await readBytes(context, async () => undefined)
  } catch (error) {
    throw readingProblem(error)
  }
  const { body } = context.request
  const bytes = Buffer.from(typeof body === 'string' ? body : '', 'latin1')
  return bytes.length === 0 ? undefined : parseBody(bytes)
}

/** What the reader says, by the status that it would answer. */
function readingProblem(error: unknown): Problem {
  const status =
    typeof error === 'object' && error !== null && 'status' in error ? Number(error.status) : undefined
  if (status === 413) {
    return new Problem('body_too_large', `The body may have ${bodyLimit} bytes at most.`, { cause: error })
  }
  if (status === 415) {
    const detail = 'The body has a Content-Encoding that is not known here; send it as it is.'
    return new Problem('unsupported_media_type', detail, { cause: error })
  }
  return new Problem('body_invalid', 'The body could not be read to its end.', { cause: messageOf(error) })
}

function parseBody(bytes: Buffer): unknown {
  const parsed = parseJsonText(bytes)
  if (!parsed.ok) throw new Problem('body_invalid', `The body ${parsed.message}.`)
  requireUnique(parsed.repeated, 'body')
  return parsed.value
}

/** Whether an answer would leave the client sending a body that nobody reads. */
export function isStillSending(request: IncomingMessage): boolean {
  return hasBody(request) && !request.complete && !request.destroyed
}

/**
 * The text of an answer to a client that is still sending. It is written at once, but the answer ends only
 * when the client has stopped, or has had enough time to: a connection that is cut earlier is reset, and the
 * client would never see why it was refused. Send it with `Connection: close`.
 */
export function lingeringAnswer(request: IncomingMessage, text: string, clock: Clock): Readable {
  const answer = new PassThrough()
  let bytes = 0
  let pieces = 0
  const finish = (): void => {
    deadline.cancel()
    request.off('data', count).off('end', finish).off('close', finish)
    answer.end()
  }
  const count = (chunk: Buffer): void => {
    bytes += chunk.length
    pieces += 1
    if (bytes > lingerBytes || pieces > lingerPieces) finish()
  }
  const deadline = clock.schedule(lingerTime, finish)
  answer.write(text)
  request.unpipe()
  request.on('data', count).on('end', finish).on('close', finish).resume()
  return answer
}
