import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endsPerTurn } from '../../src/bus/embedded/message-emitter.ts'
import { startBus } from './bus-fixture.ts'
import { connectRaw, idIn, publishedIn, subscribePacket, unsubscribePacket } from './raw-client.ts'

for (const clean of [true, false])
  test(`What a client ${clean ? 'without' : 'with'} a session subscribes to and unsubscribes from at once happens in this order, however much it is`, async (context) => {
    const bus = await startBus(context)
    const client = await connectRaw(context, bus.url, { id: 'anew', clean })
    const many = Array.from({ length: 12 * endsPerTurn }, (_, number) => `many/${number}`)
    client.send(subscribePacket(1, ['mark', 0], ['again', 1], ['less', 2]))
    await client.expect('suback')
    client.send(subscribePacket(2, ...many.map((filter): [string, number] => [filter, 1])))
    await client.expect('suback')
    client.send(
      unsubscribePacket(3, 'less', ...many, 'again'),
      subscribePacket(4, ['again', 1], ['less', 0]),
      subscribePacket(5, ['gone', 1]),
      unsubscribePacket(6, 'gone'),
    )
    const answers = []
    while (answers.length < 4) answers.push(idIn(await client.next()))
    assert.deepEqual(answers.sort(), [3, 4, 5, 6])
    for (const topic of ['gone', 'many/0', many.at(-1) ?? '', 'again', 'less', 'mark'])
      await bus.publish(topic, topic, { qos: 2 })
    const heard = []
    while (heard.at(-1)?.topic !== 'mark') heard.push(publishedIn(await client.expect('publish')))
    assert.deepEqual(
      heard.map(({ topic, qos }) => [topic, qos]),
      [
        ['again', 1],
        ['less', 0],
        ['mark', 0],
      ],
    )
  })
