import { cutText } from '../base/text/cut-text.ts'
import { jsonText } from '../base/text/json.ts'
import { Problem, type ProblemDocument, problemDocument } from '../base/problem.ts'

/** What is published on `R/response/<verb>`. */
export interface MqttResponse {
  status: 'ok' | 'error'
  data?: unknown
  error?: ProblemDocument
  transaction?: unknown
}

/** What has been asked, and where. */
export interface MqttQuestion {
  topic: string
  /** The request was one to do something. */
  changes: boolean
}

/** Bytes that are left of the sentence of a problem whose answer is too large. */
const detailBytes = 500

/**
 * The text of an answer. Of one with more than `limit` bytes, which the broker would not take, what is left says so: whoever has
 * asked would wait for it.
 */
export function answerText(
  response: MqttResponse,
  asked: MqttQuestion,
  limit = Number.POSITIVE_INFINITY,
): string {
  const text = jsonText(response)
  const bytes = Buffer.byteLength(text)
  if (bytes <= limit) return text
  const { transaction } = response
  const error = tooLarge(response, asked, `answer has ${bytes} bytes, and the MQTT broker takes ${limit}`)
  const lesser = jsonText({ status: 'error', error, ...(transaction === undefined ? {} : { transaction }) })
  // Perhaps it is what was to come back that is so large.
  return Buffer.byteLength(lesser) <= limit ? lesser : jsonText({ status: 'error', error })
}

function tooLarge({ error }: MqttResponse, { topic, changes }: MqttQuestion, what: string): ProblemDocument {
  const remedy = 'Ask over HTTP, or let the broker take larger packets'
  if (error === undefined) {
    const begin = changes ? 'This was done, but the' : 'The'
    return problemDocument(new Problem('answer_too_large', `${begin} ${what} at most. ${remedy}.`), topic)
  }
  const { type, title, status, code, detail } = error
  const sentence = `${cutText(detail, detailBytes)} The ${what} at most, so not all is told. ${remedy}.`
  return { type, title, status, detail: sentence, instance: topic, code }
}
