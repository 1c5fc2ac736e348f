import type { createBrokerSessions } from '../../../src/bus/store/broker-sessions.ts'

type BrokerSessions = ReturnType<typeof createBrokerSessions>

/** Sends one of the messages that wait for the client and have not been sent. `which`: any number. */
export function sendOne(sessions: BrokerSessions, client: string, which: number): void {
  const unsent = sessions
    .queueOf(client)
    .filter(({ cmd, messageId }) => cmd === 'publish' && messageId === undefined)
  const one = unsent[which % Math.max(1, unsent.length)]
  if (one !== undefined) sessions.sending(client, { ...one, messageId: 1 })
}

/** The client has one of those that were sent: it is done, or its release takes its place. Answers its topic. */
export function acknowledgeOne(sessions: BrokerSessions, client: string, which: number): string | undefined {
  const sent = sessions.queueOf(client).filter(({ messageId }) => messageId !== undefined)
  const one = sent[which % Math.max(1, sent.length)]
  if (one?.messageId === undefined) return undefined
  if (one.cmd === 'publish' && one.qos === 2) sessions.released(client, one.messageId)
  else sessions.confirmed(client, one.messageId)
  return one.topic
}
