import { createHash } from 'node:crypto'
import { nkeys } from '@nats-io/transport-node'

/** An operator, an account with JetStream and a user of it, as "nsc" would make them. */

type KeyPair = ReturnType<typeof nkeys.createUser>

export interface NatsOperator {
  /** Lines for the configuration of a server that believes this operator. */
  lines: string[]
  /** What HOST_FLEET_CREDENTIALS_FILE holds. */
  credentials: string
}

export function createOperator(): NatsOperator {
  const operator = nkeys.createOperator()
  const account = nkeys.createAccount()
  // JetStream needs one, for what the server says to itself.
  const system = nkeys.createAccount()
  const user = nkeys.createUser()
  const everything = { mem_storage: -1, disk_storage: -1 }
  const limits = {
    subs: -1,
    data: -1,
    payload: -1,
    conn: -1,
    leaf: -1,
    imports: -1,
    exports: -1,
    wildcards: true,
  }
  const operatorToken = tokenOf(operator, operator, { type: 'operator', version: 2 })
  const accountToken = tokenOf(account, operator, {
    type: 'account',
    version: 2,
    limits: { ...limits, ...everything },
  })
  const systemToken = tokenOf(system, operator, { type: 'account', version: 2, limits })
  const userToken = tokenOf(user, account, {
    type: 'user',
    version: 2,
    subs: -1,
    data: -1,
    payload: -1,
    pub: {},
    sub: {},
  })
  const seed = Buffer.from(user.getSeed()).toString()
  return {
    lines: [
      `operator: ${operatorToken}`,
      'resolver: MEMORY',
      `system_account: ${system.getPublicKey()}`,
      `resolver_preload: { ${account.getPublicKey()}: ${accountToken}, ${system.getPublicKey()}: ${systemToken} }`,
    ],
    credentials: [
      ...['-----BEGIN NATS USER JWT-----', userToken, '------END NATS USER JWT------', ''],
      ...['-----BEGIN USER NKEY SEED-----', seed, '------END USER NKEY SEED------', ''],
    ].join('\n'),
  }
}

function tokenOf(subject: KeyPair, issuer: KeyPair, nats: object): string {
  const claims = {
    ...{ iat: 1_700_000_000, iss: issuer.getPublicKey(), sub: subject.getPublicKey(), name: 'test', nats },
    jti: createHash('sha256').update(subject.getPublicKey()).digest('hex'),
  }
  const text = [{ typ: 'JWT', alg: 'ed25519-nkey' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${text}.${Buffer.from(issuer.sign(Buffer.from(text))).toString('base64url')}`
}
