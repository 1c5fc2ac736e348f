import type { AedesOptions, AedesPublishPacket, AuthenticateError, Client } from 'aedes'
import { clientNetwork } from '../../base/network/client-address.ts'
import type { LogFields } from '../../base/log/log.ts'
import type { Warner } from '../../base/log/warning.ts'
import { memoize } from '../../base/memoize.ts'
import { createSecretCheck } from '../../base/keys/secret-check.ts'
import { cutText } from '../../base/text/cut-text.ts'
import { isBelow, isShared } from '../../base/topic-filter.ts'
import {
  isBrokerInternal,
  isRequest,
  mayClientPublish,
  maySubscribe,
} from '../../schema/manifest/topic-rights.ts'
import type { Guesses } from '../../base/network/guess-limit.ts'
import type { Acknowledgements } from './acknowledgements.ts'
import { createConnectQuota } from './connect-quota.ts'
import { createGrantedSubscriptions } from './granted-subscriptions.ts'
import { createSubscriptionScheduler } from './subscription-scheduler.ts'
import type { Publisher } from '../store/retained-ledger.ts'
import type { RetainedPacket, StoredSubscription } from '../store/stored-packet.ts'

/** Where refused messages go: nobody can subscribe to it. */
const refusedTopic = '$SYS/refused'
/** Of a client's id that the log repeats. */
const clientIdBytes = 200

type ReturnCode = AuthenticateError['returnCode']

/* eslint-disable @typescript-eslint/no-unsafe-enum-assignment -- a const enum of a declaration file cannot be imported */
/** CONNACK return codes of MQTT 3.1.1. */
const badIdentifier = 2 as ReturnCode
const unavailable = 3 as ReturnCode
const badCredentials = 4 as ReturnCode
/* eslint-enable */

/** Of a command by a bridge that the other broker has retained. */
const repeatedCommand = 'A command that another broker has retained was refused: its bridge would repeat it'

/** An error would cut the client off. So the message is acknowledged, but goes nowhere. */
function discard(packet: Pick<AedesPublishPacket, 'topic' | 'payload' | 'retain'>): void {
  packet.topic = refusedTopic
  packet.payload = Buffer.alloc(0)
  packet.retain = false
}

function refusal(reason: string, returnCode: ReturnCode): AuthenticateError {
  return Object.assign(new Error(reason), { returnCode })
}

export interface BrokerRulesSettings {
  /** First level(s) of the host's own topics. */
  root: string
  /** Password that clients must give. */
  token: string | undefined
  /** What limits the guesses of a client. */
  guessesOf: (client: Client) => Guesses
  /** Network address of a client. */
  addressOf: (client: object) => string
  /** Says whose message this payload is. */
  retains: (payload: Buffer, publisher: Publisher) => void
  /** Something is about to be written to this connection. */
  forwards: (connection: Client['conn']) => void
  /** A retained message is being sent; answers the id under which it waits to be confirmed, if it does. */
  sendingRetained: (client: Client, packet: RetainedPacket) => number | undefined
  /** A client with a session has subscribed; `carryOut` makes it so for its connection. */
  keepSubscription: (clientId: string, subscription: StoredSubscription, carryOut: () => void) => void
  /** Ends the connection of a client for which too much waits. */
  cutOffIfSlow: (client: Client) => boolean
  /** When the messages of a client are confirmed. */
  acknowledgements: Acknowledgements
  warn: Warner
}

/** Who may connect, publish and subscribe, and who gets what, in the words of the broker. */
export function createBrokerRules({
  root,
  token,
  guessesOf,
  addressOf,
  retains,
  forwards,
  sendingRetained,
  keepSubscription,
  cutOffIfSlow,
  acknowledgements,
  warn,
}: BrokerRulesSettings) {
  const isToken = token === undefined ? undefined : createSecretCheck(token)
  /** Where a client counts as one. */
  const networkOf = (client: object): string => clientNetwork(addressOf(client))
  const granted = createGrantedSubscriptions(networkOf)
  const connectBytes = createConnectQuota(networkOf)
  /** Clients without an id, which have a session that nobody could come back to. */
  const nameless = new WeakSet<Client>()
  const admitted = new WeakSet<object>()
  /** Clients that were told that they are connected: nothing comes before that. */
  const greeted = new WeakSet<object>()
  /** Brokers that pass on what is said at them. They say so by a bit of the version, which is not in the library's types. */
  const bridges = new WeakSet<Client>()
  const counts = { received: 0, wrongPasswords: 0 }
  const inTurn = createSubscriptionScheduler()
  const mayPublish = memoize((topic) => mayClientPublish(root, topic))

  /**
   * Whether a message comes too early: while what has waited for a client is on its way to it, what is published waits
   * behind that, in the session as well, and is sent when all of it has gone.
   */
  function mustWait(client: Client, { qos, retain, messageId }: AedesPublishPacket): boolean {
    if (client.connected || retain || messageId !== undefined) return false
    return !greeted.has(client) || (qos > 0 && !client.clean)
  }

  /** Which device to look for; cut, as it has shown no password. */
  const stranger = (client: Client, id: string): LogFields => ({
    client: cutText(id, clientIdBytes),
    address: addressOf(client),
  })

  const authorizeSubscription: NonNullable<AedesOptions['authorizeSubscribe']> = (
    client,
    subscription,
    done,
  ) => {
    const { topic, qos } = subscription
    if (!admitted.has(client) || !maySubscribe(topic)) {
      done(null, null)
      return
    }
    // Those of MQTT 5 are no part of 3.1.1: taken as any other filter, it would never match.
    if (isShared(topic)) {
      warn('A subscription was refused: only brokers of MQTT 5 have shared ones', {
        client: client.id,
        filter: topic,
      })
      done(null, null)
      return
    }
    const refusal = granted.grant(client, topic, qos)
    if (refusal !== undefined) {
      warn(`A subscription was refused: ${refusal}`, { client: client.id, address: addressOf(client) })
      done(null, null)
      return
    }
    // The broker delivers with the message's own QoS; `authorizeForward` says with which it goes on.
    const carryOut = (): void => done(null, { ...subscription, qos: 2 })
    if (client.clean) carryOut()
    else keepSubscription(client.id, { topic, qos }, carryOut)
  }

  const rules = {
    preConnect(client, packet, done) {
      // Only MQTT 3.1.1 has clients without an id, and only with a session that ends with the connection (3.1.3-7).
      if (packet.clientId === '' && (!packet.clean || packet.protocolVersion !== 4)) nameless.add(client)
      if (packet.protocolVersion === 5)
        warn(
          'An MQTT client was refused: it asks for MQTT 5; set it to 3.1.1',
          stranger(client, packet.clientId),
        )
      if (Reflect.get(packet, 'bridgeMode') === true) bridges.add(client)
      connectBytes.request(client, packet)
      // The broker authenticates a turn later, and would carry out what comes until then. Not in its types: it reads on
      // when the client is let in.
      Reflect.apply(Reflect.get(client, 'pause') as () => void, client, [])
      done(null, true)
    },
    authenticate(client, _username, password, done) {
      const admit = (): void => {
        if (!connectBytes.take(client)) {
          warn(
            'An MQTT client was refused: the ids and wills of clients take as many bytes as they may',
            stranger(client, client.id),
          )
          done(refusal('There is no room for its will', unavailable), false)
          return
        }
        admitted.add(client)
        done(null, true)
      }
      if (nameless.has(client)) {
        done(refusal('A client without an id must have a clean session', badIdentifier), false)
        return
      }
      if (isToken === undefined) {
        admit()
        return
      }
      const wrong = refusal('The password must be the token of this host', badCredentials)
      const address = addressOf(client)
      const guesses = guessesOf(client)
      // Too many wrong ones came from there: no password is looked at for a while.
      if (guesses.cutOffLeft(address) > 0) {
        done(wrong, false)
        return
      }
      if (password !== undefined && isToken(password)) {
        admit()
        return
      }
      counts.wrongPasswords += 1
      // Who gives none does not guess.
      if (password !== undefined && password.length > 0) guesses.recordWrong(address)
      warn(
        'An MQTT client was refused: its password is not the token of this host',
        stranger(client, client.id),
      )
      done(wrong, false)
    },
    authorizePublish(client, packet, done) {
      if (client !== null && !admitted.has(client)) {
        done(new Error('it has not been let in'))
        return
      }
      counts.received += 1
      if (!mayPublish(packet.topic)) {
        warn(
          'A message of an MQTT client was refused: only the host publishes there',
          { client: client?.id, topic: packet.topic },
          // So that one that never stops does not hide another one.
          client?.id,
        )
        discard(packet)
      }
      if (isBelow(root, packet.topic) && packet.retain) {
        // What another broker has retained its bridge sends at each connection, so at each start of the host.
        if (client !== null && bridges.has(client)) {
          const { topic } = packet
          warn(`${repeatedCommand}. Clear it there`, { client: client.id, topic }, topic)
          discard(packet)
        }
        // Commands, which are all that is left below the root, are for now: delivered, but not kept for later.
        packet.retain = false
      }
      if (packet.retain && Buffer.isBuffer(packet.payload) && client !== null) {
        retains(packet.payload, { kind: 'client', address: networkOf(client) })
      }
      if (client === null || !acknowledgements.take(client, packet)) done(null)
    },
    published(packet, client, done) {
      const ready = acknowledgements.ready(client, packet)
      if (ready === undefined) done(null)
      else void ready.then(() => done(null))
    },
    authorizeSubscribe: (client, subscription, done) =>
      inTurn(client, () => authorizeSubscription(client, subscription, done)),
    authorizeForward(client, packet) {
      if (isBrokerInternal(packet.topic) || isRequest(root, packet.topic)) return null
      forwards(client.conn)
      if (cutOffIfSlow(client)) return null
      // What has waited in a session has its QoS, and a number already.
      if (packet.qos > 0 && packet.messageId === undefined) {
        packet.qos = granted.qosFor(client, packet.topic, packet.qos)
        // The broker itself would send it once, and forget it.
        const { topic, payload, qos, retain } = packet
        if (retain && qos > 0 && Buffer.isBuffer(payload))
          Object.assign(packet, { messageId: sendingRetained(client, { topic, payload, qos }) })
      }
      return mustWait(client, packet) ? null : packet
    },
  } satisfies AedesOptions

  return {
    rules,
    unsubscribed: granted.revoke,
    greeted: (client: object): void => void greeted.add(client),
    /** Whether the client was let in; one that was not changes nothing of what is kept under its id. */
    isAdmitted: (client: object): boolean => admitted.has(client),
    /** Messages from clients, and clients that were refused because of their password. */
    counts,
  }
}
