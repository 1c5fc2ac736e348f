/** A packet as the broker hands it over; an acknowledgement in a queue has an empty topic and no payload. */
export interface StoredPacket {
  cmd: string
  topic: string
  payload: Buffer
  qos: 0 | 1 | 2
  retain: boolean
  brokerId?: string
  brokerCounter?: number
  messageId?: number | undefined
}

export interface StoredSubscription {
  topic: string
  qos: 0 | 1 | 2
}

/** Of a session. */
export type SessionSubscription = Readonly<StoredSubscription & { clientId: string }>

/** A retained message on its way to who has subscribed. */
export type RetainedPacket = Pick<StoredPacket, 'topic' | 'payload' | 'qos'>
