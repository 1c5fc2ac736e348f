import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchFailureReason } from '../../../src/repository/sources/fetch-failure.ts'

const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code })

test('where the time of a certificate is not now, the clock is told: it may be the one that is wrong', () => {
  const reasonOf = (error: Error): string => fetchFailureReason('plugins.json', error, 0)
  assert.deepEqual(
    [
      coded('CERT_NOT_YET_VALID', 'certificate is not yet valid'),
      coded('CERT_HAS_EXPIRED', 'certificate has expired'),
      coded('SELF_SIGNED_CERT_IN_CHAIN', 'self-signed certificate in certificate chain'),
    ].map(reasonOf),
    [
      'the time of its certificate is not now (CERT_NOT_YET_VALID): by the clock of this host it is 1970-01-01T00:00:00.000Z; set the clock, or use a certificate that is valid',
      'the time of its certificate is not now (CERT_HAS_EXPIRED): by the clock of this host it is 1970-01-01T00:00:00.000Z; set the clock, or use a certificate that is valid',
      'its certificate is not accepted (SELF_SIGNED_CERT_IN_CHAIN); use one that is valid',
    ],
  )
})
