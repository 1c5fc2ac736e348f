import assert from 'node:assert/strict'
import { constants } from 'node:os'
import { test } from 'node:test'
import { networkListFailure } from '../../src/outside/networks.ts'
import { moduleAddress, printedWithFewFiles } from '../helpers/few-files.ts'

test('that the networks of this machine are not told, while no file descriptor is left, is said with what to do', (context) => {
  const printed = printedWithFewFiles(
    context,
    `import { listNetworks } from ${moduleAddress('outside/networks.ts')}
    fill()
    let refusal
    try { listNetworks() } catch (error) { refusal = error }
    release()
    console.log(refusal.message, Object.keys(listNetworks()).length > 0)`,
  )
  if (printed !== undefined)
    assert.match(printed, /has too many files open; raise the limit \(ulimit -n\) true\n$/)
})

test('why the networks of this machine are not told is said by the number that the system gives', () => {
  const { EMFILE, ENFILE, EAFNOSUPPORT, EACCES } = constants.errno
  for (const [errno, words] of [
    [EMFILE, /^the system does not tell .*too many files open; raise the limit \(ulimit -n\)$/],
    [ENFILE, /^the system does not tell .*too many files open; raise the limit \(ulimit -n\)$/],
    [
      EAFNOSUPPORT,
      /^the system does not tell .*RestrictAddressFamilies= where AF_NETLINK is missing; add it there$/,
    ],
    [EACCES, /^the system does not tell the networks of this machine \(EACCES\)$/],
  ] as const)
    assert.match(networkListFailure(Object.assign(new Error('uv_interface_addresses'), { errno })), words)
  assert.equal(networkListFailure('nothing'), 'the system does not tell the networks of this machine')
})
