// Whether the host of this environment is alive: asks `/livez` at its port, over TLS when it has a certificate.
// For the container, where settings are variables: `node scripts/health-check.mjs`. Exit code 0 or 1.
import { request as plain } from 'node:http'
import { request as encrypted } from 'node:https'

const { HOST_HTTP_BIND: bind = '127.0.0.1', HOST_HTTP_PORT: port = '3000', HOST_TLS_CERT_FILE } = process.env
// What listens everywhere is reached by loopback.
const everywhere = { '0.0.0.0': '127.0.0.1', '::': '::1' }
const host = everywhere[bind] ?? bind
const request = HOST_TLS_CERT_FILE ? encrypted : plain

function fail(reason) {
  console.error(`The host does not answer at ${host}, port ${port}: ${reason}`)
  process.exit(1)
}

try {
  // The certificate names what others call this host, and nothing secret is sent.
  const options = { host, port, path: '/livez', timeout: 4_000, rejectUnauthorized: false }
  const asked = request(options, ({ statusCode }) =>
    statusCode === 200 ? process.exit(0) : fail(`status ${statusCode}`),
  )
  asked.on('timeout', () => fail('no answer in time'))
  asked.on('error', ({ message }) => fail(message))
  asked.end()
} catch (error) {
  fail(error.message)
}
