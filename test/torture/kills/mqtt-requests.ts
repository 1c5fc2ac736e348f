import { connectAsync } from 'mqtt'

/** The answer of a host to a command over MQTT. */
export interface MqttAnswer {
  status: 'ok' | 'error'
  data?: unknown
  error?: { status: number; code: string; detail: string }
}

export interface MqttRequests {
  /** Rejects when the connection ends before the answer. */
  send(verb: string, body: object): Promise<MqttAnswer>
  close(): void
}

/** `R/request/<verb>` and the answer of the same transaction. */
export async function connectMqttRequests(url: string): Promise<MqttRequests> {
  const client = await connectAsync(url, { reconnectPeriod: 0, connectTimeout: 10_000 })
  const waiting = new Map<number, { resolve(answer: MqttAnswer): void; reject(error: Error): void }>()
  let last = 0
  const failAll = (): void => {
    for (const { reject } of waiting.values()) reject(new Error('The connection ended'))
    waiting.clear()
  }
  client.on('error', () => undefined)
  client.on('close', failAll)
  client.on('message', (_topic, payload) => {
    const { transaction, ...answer } = JSON.parse(payload.toString()) as MqttAnswer & { transaction: number }
    waiting.get(transaction)?.resolve(answer)
    waiting.delete(transaction)
  })
  await client.subscribeAsync('host/response/+', { qos: 1 })
  return {
    send(verb, body) {
      const transaction = (last += 1)
      return new Promise((resolve, reject) => {
        waiting.set(transaction, { resolve, reject })
        client.publish(
          `host/request/${verb}`,
          JSON.stringify({ ...body, transaction }),
          { qos: 1 },
          (error) => {
            if (error != null) reject(error)
          },
        )
        if (!client.connected) reject(new Error('The connection has ended'))
      })
    },
    close: () => void client.end(true),
  }
}
