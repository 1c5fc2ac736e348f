import { hash } from 'node:crypto'
import type { JsonObject } from '../../base/text/json.ts'

/**
 * One line of the journal: a JSON object whose last member, `checksum`, covers every byte before it. So a
 * line stays readable to any JSON tool, and a flipped bit is found. The bytes as they are on disk, not the text:
 * many invalid bytes give the same text.
 */

const checksumLength = 16
const tail = (checksum: string): string => `,"checksum":"${checksum}"}`
const tailLength = tail('0'.repeat(checksumLength)).length

function checksumOf(body: string | Uint8Array): string {
  return hash('sha256', body).slice(0, checksumLength)
}

/** The line without its line feed. */
export function encodeLine(value: object): string {
  const body = JSON.stringify(value).slice(0, -1)
  return body + tail(checksumOf(body))
}

/** The object in the line (without its line feed), or the reason why the line cannot be believed. */
export function decodeLine(
  line: Uint8Array,
): { ok: true; value: JsonObject } | { ok: false; reason: string } {
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.byteLength)
  const split = Math.max(0, bytes.length - tailLength)
  const body = bytes.subarray(0, split)
  if (bytes.toString('latin1', split) !== tail(checksumOf(body))) {
    return { ok: false, reason: 'its checksum does not match' }
  }
  try {
    // JSON that ends with a brace is an object.
    return { ok: true, value: JSON.parse(`${body.toString('utf8')}}`) as JsonObject }
  } catch {
    return { ok: false, reason: 'it is not JSON' }
  }
}
