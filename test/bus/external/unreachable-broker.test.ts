import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { brokerFailure } from '../../../src/bus/external/broker-failure.ts'
import { createReadiness } from '../../../src/host/readiness.ts'
import { createRecordingLogger, startExternalBus } from '../bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from '../mosquitto.ts'

/** Brokers elsewhere that a host does not get into, and what its log and `/readyz` say of that. */

const tls = join(import.meta.dirname, '..', '..', 'fixtures', 'tls')
const ownAuthority = 'NODE_EXTRA_CA_CERTS names a file with the certificate of an authority of your own'

async function toldOf(context: TestContext, url: string): Promise<{ logged: unknown; health: unknown }> {
  const logger = createRecordingLogger()
  const bus = await startExternalBus(context, url, { logger })
  const refused = { reason: undefined, takenElsewhere: () => undefined, subscribe: () => () => undefined }
  const readiness = createReadiness(
    bus,
    { stall: undefined, refused },
    { failure: undefined },
    { storesFailure: undefined },
  )
  return { logged: logger.lines[0]?.fields?.reason, health: readiness.now().reasons }
}

test(
  'A broker that does not take the password is told of with the setting that has it, in the log and as what keeps the host from its work',
  { skip: mosquittoMissing },
  async (context) => {
    const mosquitto = await startMosquitto(context, ['allow_anonymous false'])
    const reason =
      'Connection refused: Not authorized: it does not take the user name and password that HOST_MQTT_URL has, or this client'
    assert.deepEqual(await toldOf(context, mosquitto.url), {
      logged: reason,
      health: [`the broker is not connected: ${reason}`],
    })
  },
)

test(
  'A broker with a certificate of its own authority is told of with the setting that has that believed',
  { skip: mosquittoMissing },
  async (context) => {
    const files = [`certfile ${join(tls, 'certificate.pem')}`, `keyfile ${join(tls, 'key.pem')}`]
    const mosquitto = await startMosquitto(context, ['allow_anonymous true', ...files])
    const reason = `self-signed certificate: ${ownAuthority}`
    assert.deepEqual(await toldOf(context, mosquitto.url.replace('mqtt:', 'mqtts:')), {
      logged: reason,
      health: [`the broker is not connected: ${reason}`],
    })
  },
)

for (const { what, scheme, lines } of [
  { what: 'TLS at a port without', scheme: 'mqtts:', lines: [] },
  {
    what: 'no TLS at a port with it',
    scheme: 'mqtt:',
    lines: [`certfile ${join(tls, 'certificate.pem')}`, `keyfile ${join(tls, 'key.pem')}`],
  },
  { what: 'WebSocket at a port without', scheme: 'ws:', lines: [] },
]) {
  test(
    `A broker that only hangs up is told of with what may be wrong with the address: ${what}`,
    { skip: mosquittoMissing },
    async (context) => {
      const mosquitto = await startMosquitto(context, ['allow_anonymous true', ...lines])
      const { logged } = await toldOf(context, mosquitto.url.replace('mqtt:', scheme))
      assert.equal(
        logged,
        'read ECONNRESET: it hung up before it had answered; mqtts:// and wss:// are for a port with TLS, mqtt:// and ws:// for one without, and each port takes either MQTT or WebSocket',
      )
    },
  )
}

test('What a broker has against a host is said in words, and what is plain already stays', () => {
  const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code })
  const openSsl = (reason: string): Error =>
    coded('ERR_SSL', `80AC8C9A:error:0A00045C:SSL routines:ssl3_read_bytes:${reason}:../deps/rec.c:1601:\n`)
  assert.deepEqual(
    [
      openSsl('tlsv13 alert certificate required'),
      openSsl('wrong version number'),
      coded('CERT_HAS_EXPIRED', 'certificate has expired'),
      coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'unable to verify the first certificate'),
      coded('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1883'),
      coded('ENOTFOUND', 'getaddrinfo ENOTFOUND broker.invalid'),
      new Error('connack timeout'),
      coded(
        'ERR_TLS_CERT_ALTNAME_INVALID',
        "Hostname/IP does not match certificate's altnames: IP: 10.0.0.7 is not in the cert's list: ",
      ),
    ].map((error) => brokerFailure(error, { now: 0, wasConnected: false })),
    [
      'the broker asks who connects for a certificate, and this host has none to show: tlsv13 alert certificate required',
      'what answers at the broker does not speak TLS: wrong version number',
      'certificate has expired; by the clock of this host it is 1970-01-01T00:00:00.000Z',
      `unable to verify the first certificate: ${ownAuthority}`,
      'connect ECONNREFUSED 127.0.0.1:1883: nothing answers at its address; check that the server runs, and its port',
      'getaddrinfo ENOTFOUND broker.invalid: its host name is not known; check its address and the DNS',
      'connack timeout: nobody has answered there for 10 s: a name server, the network on the way or the broker is silent',
      "Hostname/IP does not match certificate's altnames: IP: 10.0.0.7 is not in the cert's list: HOST_MQTT_URL must name the broker as its certificate does",
    ],
  )
  const reset = coded('ECONNRESET', 'read ECONNRESET')
  const silent = new Error('Keepalive timeout')
  assert.deepEqual(
    [reset, undefined, silent].map((error) => brokerFailure(error, { now: 0, wasConnected: true })),
    [
      'read ECONNRESET',
      'the connection was closed',
      'Keepalive timeout: it has not answered any more, so it or the network on the way is gone without a word',
    ],
  )
})
