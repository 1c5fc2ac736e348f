import type { Logger } from '../../base/log/log.ts'
import { coordinatorLease } from './records.ts'
import { type Held, isFresh, type LeaseState } from './state.ts'

/** What the log says of sessions: who reads it later finds when hosts came and went, and why plugins moved. */

export function logOtherHost(logger: Logger, before: LeaseState, after: LeaseState, host: string): void {
  // What is read at the start happened before.
  if (host === after.host || !before.isSynced) return
  const was = before.hosts.get(host)
  const is = after.hosts.get(host)
  if (is === undefined || was?.record?.session === is.record?.session) return
  if (was !== undefined && was.record !== null && is.at - was.at >= after.timing.sessionLength) {
    const silentSeconds = Math.round((is.at - was.at) / 1_000)
    // It alone writes a record there. Others may have taken its plugins before, where this host could not see it.
    if (is.record !== null) {
      logger.warn(
        'A host of the fleet has begun another session: its last one was over, so its plugins were stopped or taken by others',
        { host, silentSeconds },
      )
      return
    }
    logger.warn('A host of the fleet is gone: it is not heard of any more, so others take its plugins', {
      host,
      silentSeconds,
    })
  } else if (is.record === null) logger.info('A host of the fleet has left', { host })
  if (is.record !== null) logger.info('A host of the fleet is there', { host })
}

/** The own session goes on after a time without a renewal for which its plugins were stopped. */
export function logRenewed(logger: Logger, before: LeaseState, after: LeaseState, now: number): void {
  const { own, held } = before
  if (own === null || own.validFrom === null || own.session !== after.own?.session) return
  if (isFresh(before, now) || !isFresh(after, now)) return
  const isBack = ({ phase, isLeaving }: Held): boolean =>
    !isLeaving && (phase === 'stopping' || phase === 'stopped')
  // Those that leave do not start here again.
  if (![...held.values()].some(isBack)) return
  logger.warn(
    'The session of this host was not renewed for so long that its plugins were stopped here; now they start again: the ' +
      "fleet's store could not be reached, or this machine was asleep",
    { session: own.session, silentSeconds: Math.round((now - own.validFrom) / 1_000) },
  )
}

/** A plugin that goes has to wait for the broker; or does so no longer, as another host has the broker close the connection. */
export function logWaiting(logger: Logger, before: LeaseState, after: LeaseState, now: number): void {
  if (after.own === null || after.held === before.held) return
  for (const [plugin, { phase, epoch, askedAt, flushingSince, isUnflushed }] of after.held) {
    if (isUnflushed === true && before.held.get(plugin)?.isUnflushed !== true)
      logger.warn(
        'A plugin goes to a host that has the MQTT broker, without an answer of the broker to this one, which cannot reach it: whoever ' +
          "takes it has the broker close this host's connection first",
        { plugin },
      )
    if (phase !== 'flushing' || flushingSince === undefined || plugin === coordinatorLease) continue
    const last = before.held.get(plugin)
    const isAskedAgain = last?.epoch === epoch && last.askedAt < askedAt
    const patience = flushingSince + after.timing.flushPatience
    // Once: at the first question after it has lasted so long.
    if (!isAskedAgain || now < patience || last.askedAt >= patience) continue
    logger.warn(
      'A plugin that is to leave this host waits for the MQTT broker, which has to answer before another host may run it: see whether ' +
        'this host reaches the broker',
      { plugin },
    )
  }
}

/** The own session is over, and the host is not to end. */
export function logOver(logger: Logger, before: LeaseState, session: string, now: number): void {
  const { own, isLeaving } = before
  if (isLeaving || own === null || own.validFrom === null) {
    logger.info('The session of this host is over', { session })
    return
  }
  logger.warn(
    "The session of this host is over, so its plugins are stopped here: the fleet's store has taken no renewal of it, " +
      'because it could not be reached, or this machine was asleep',
    { session, silentSeconds: Math.round((now - own.validFrom) / 1_000) },
  )
}
