import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkFailure } from '../../src/outside/network-error.ts'

const coded = (code: string, message = ''): Error => Object.assign(new Error(message), { code })

test('what goes wrong on the way is said in words, with the name that the system has for it', () => {
  const told = [
    coded('ENOTFOUND'),
    coded('EAI_AGAIN'),
    coded('ECONNREFUSED'),
    coded('EHOSTUNREACH'),
    coded('ECONNRESET'),
    coded('ETIMEDOUT'),
    coded('UND_ERR_CONNECT_TIMEOUT'),
    coded('CERT_HAS_EXPIRED', 'certificate has expired'),
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
    network('lamp:80 closed the connection before the answer was complete (ECONNRESET)'),
    { code: 'timeout', message: 'timeout: lamp:80 does not answer (ETIMEDOUT)' },
    { code: 'timeout', message: 'timeout: lamp:80 does not answer (UND_ERR_CONNECT_TIMEOUT)' },
    network('the certificate of lamp:80 is not trusted: certificate has expired (CERT_HAS_EXPIRED)'),
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
