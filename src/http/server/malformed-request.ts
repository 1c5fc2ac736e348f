import { Problem, type ProblemDocument, problemDocument, systemErrorCode } from '../../base/problem.ts'

const requestLine = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ [^ ]+ HTTP\/1\.[01]\r?\n/

/** What is wrong with bytes that are not a request, whose head may have so many; the parser's own words could repeat the input. */
export function malformedRequest(
  error: Error & { rawPacket?: Buffer },
  headerLimit: number,
): ProblemDocument {
  const code = systemErrorCode(error)
  const { rawPacket } = error
  if (
    code === 'HPE_INVALID_METHOD' &&
    requestLine.test(rawPacket?.toString('latin1', 0, headerLimit) ?? '')
  ) {
    // No address is known by then, so that nobody can say which methods it takes.
    const problem = new Problem('method_not_allowed', 'No address of this host knows this method of HTTP.')
    return { ...problemDocument(problem), status: 501 }
  }
  const document = (detail: string): ProblemDocument => problemDocument(new Problem('body_invalid', detail))
  if (code === 'HPE_HEADER_OVERFLOW') {
    const detail = `The head of a request may have ${headerLimit} bytes at most.`
    return { ...document(detail), status: 431 }
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { ...document('The request did not arrive in time.'), status: 408 }
  }
  return document('This is not an HTTP/1.1 request.')
}
