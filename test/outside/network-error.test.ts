import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bindFailure, networkFailure } from '../../src/outside/network-error.ts'

const coded = (code: string, message = ''): Error => Object.assign(new Error(message), { code })
/** As OpenSSL writes it, with the place in its source and the end of a line. */
const openSsl = (code: string, reason: string, before = ''): Error =>
  coded(
    code,
    `${before}804C0842EC7F0000:error:0A00010B:SSL routines:ssl3_get_record:${reason}:../deps/openssl/ssl/record.c:350:\n`,
  )

test('what goes wrong on the way is said in words, with the name that the system has for it', () => {
  const told = [
    coded('ENOTFOUND'),
    coded('EAI_AGAIN'),
    coded('ECONNREFUSED'),
    coded('EHOSTUNREACH'),
    coded('ENETUNREACH'),
    coded('ECONNRESET'),
    coded('EPIPE'),
    coded('UND_ERR_SOCKET', 'other side closed'),
    coded('UND_ERR_SOCKET', 'bad response'),
    coded('UND_ERR_HEADERS_OVERFLOW', 'Headers Overflow Error'),
    coded('HPE_HEADER_OVERFLOW', 'Parse Error: Header overflow'),
    coded('ETIMEDOUT'),
    coded('UND_ERR_CONNECT_TIMEOUT'),
    coded('CERT_HAS_EXPIRED', 'certificate has expired'),
    openSsl('ERR_SSL_WRONG_VERSION_NUMBER', 'wrong version number'),
    openSsl('EPROTO', 'tlsv1 alert protocol version', 'write EPROTO '),
    openSsl('ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'sslv3 alert handshake failure'),
    coded('E_OTHER', 'something else'),
    coded('E_SILENT'),
    'no error at all',
  ].map((error) => networkFailure(error, 'lamp:80'))
  const network = (message: string) => ({ code: 'network', message })
  assert.deepEqual(told, [
    network('host not found: lamp:80 (ENOTFOUND)'),
    network('host not found: lamp:80 (EAI_AGAIN)'),
    network('connection refused by lamp:80 (ECONNREFUSED)'),
    network('no way to lamp:80 (EHOSTUNREACH)'),
    network('no way to lamp:80 (ENETUNREACH)'),
    network('lamp:80 closed the connection before the answer was complete (ECONNRESET)'),
    network('lamp:80 closed the connection before the answer was complete (EPIPE)'),
    network('lamp:80 closed the connection before the answer was complete (UND_ERR_SOCKET)'),
    network('lamp:80 answered 100 Continue, which was not asked for (UND_ERR_SOCKET)'),
    network('the headers of what lamp:80 answers have more than 16 KiB (UND_ERR_HEADERS_OVERFLOW)'),
    network('the headers of what lamp:80 answers have more than 16 KiB (HPE_HEADER_OVERFLOW)'),
    { code: 'timeout', message: 'timeout: lamp:80 does not answer (ETIMEDOUT)' },
    { code: 'timeout', message: 'timeout: lamp:80 does not answer (UND_ERR_CONNECT_TIMEOUT)' },
    network('the certificate of lamp:80 is not trusted: certificate has expired (CERT_HAS_EXPIRED)'),
    network(
      'what answers at lamp:80 does not speak TLS: wrong version number (ERR_SSL_WRONG_VERSION_NUMBER)',
    ),
    network('lamp:80 speaks only versions of TLS that are too old: tlsv1 alert protocol version (EPROTO)'),
    network('TLS with lamp:80 failed: sslv3 alert handshake failure (ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE)'),
    network('something else (E_OTHER)'),
    network('the request to lamp:80 failed (E_SILENT)'),
    network('no error at all'),
  ])
})

test('a certificate that is not valid yet is told with the time that the clock says', () => {
  const error = coded('CERT_NOT_YET_VALID', 'certificate is not yet valid')
  assert.deepEqual(networkFailure(error, 'lamp:80', 0), {
    code: 'network',
    message:
      'the certificate of lamp:80 is not trusted: certificate is not yet valid; by the clock of this host it is ' +
      '1970-01-01T00:00:00.000Z (CERT_NOT_YET_VALID)',
  })
})

test('why a port cannot be opened is said in words', () => {
  const told = [coded('EADDRINUSE'), coded('EACCES'), coded('E_OTHER', 'something else')].map((error) =>
    bindFailure(error, 53),
  )
  assert.deepEqual(told, [
    'port 53 is in use (EADDRINUSE)',
    'port 53 is not for this host to open (EACCES)',
    'something else',
  ])
})
