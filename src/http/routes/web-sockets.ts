import { Problem, type ProblemCode } from '../../base/problem.ts'
import { defineRoute, type Route } from '../route.ts'

/** The addresses that are WebSockets, for those who ask there without one, and for the description. */
export function webSocketRoutes(): Route[] {
  const speaks = (
    path: string,
    protocol: string,
    open: boolean,
    problems: readonly ProblemCode[] = [],
  ): Route =>
    defineRoute({
      method: 'GET',
      path,
      summary: protocol,
      open,
      early: true,
      answers: { 101: null },
      problems: ['body_invalid', ...problems],
      handle() {
        throw new Problem(
          'body_invalid',
          'This address speaks WebSocket only: connect with a WebSocket client.',
        )
      },
    })
  return [
    speaks(
      '/api/inspect',
      'State machines at work, in the message shapes of @statelyai/inspect (WebSocket)',
      false,
      ['shutting_down'],
    ),
    speaks('/mqtt', 'MQTT over WebSocket; the password is the token of the host (WebSocket)', true, [
      'too_many_requests',
      'broker_unavailable',
    ]),
  ]
}
