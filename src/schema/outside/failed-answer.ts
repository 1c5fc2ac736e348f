import type { OutsideAnswer, OutsideService } from './outside.ts'

/** The answer to a call that came to nothing. */
export function failedAnswer(service: OutsideService, message: string): OutsideAnswer {
  if (service !== 'http') return { service, answer: { ok: false, message } }
  return {
    service,
    answer: {
      status: 0,
      headers: [],
      body: new Uint8Array(),
      elapsed: 0,
      error: { code: 'network', message },
    },
  }
}
