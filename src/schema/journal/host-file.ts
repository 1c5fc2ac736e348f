import Type, { type Static } from 'typebox'
import { FullId } from '../names/identifier-schema.ts'
import { Integrity } from './journal-event.ts'
import { createParser } from '../parsing/parser.ts'
import { Config } from '../plugin/plugin.ts'
import { PublicKeyText, SigningTime } from '../manifest/repository-key.ts'
import { nullable } from '../parsing/nullable.ts'

/** `.host.json`, as the host writes it and as a person may edit it while the host is stopped. */

export const InstalledEntry = Type.Object({
  id: FullId,
  version: Type.Optional(nullable(Type.String())),
  repository: Type.Optional(nullable(Type.String())),
  enabled: Type.Optional(Type.Boolean()),
  config: Type.Optional(Config),
  /** Whatever a person wrote: what is no limit is refused with its place, not with the whole file. */
  limits: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  state: Type.Optional(Type.String()),
  revision: Type.Optional(Type.Integer()),
  installedAt: Type.Optional(Type.String()),
  updatedAt: Type.Optional(Type.String()),
  integrity: Type.Optional(Integrity),
})
export type InstalledEntry = Static<typeof InstalledEntry>

const keyExpected = { description: 'A public key of minisign (56 characters that begin with RW), or null' }

export const RepositoryEntry = Type.Object({
  name: Type.String({ minLength: 1 }),
  url: Type.String({ minLength: 1 }),
  publicKey: Type.Optional(nullable(PublicKeyText, keyExpected)),
  /** Kept by the host: the latest time of a signature that it has seen. */
  signedAt: Type.Optional(SigningTime),
})

export const HostFile = Type.Object({
  version: Type.Optional(Type.Literal(1)),
  host: Type.Optional(Type.Object({ id: Type.Optional(Type.String({ minLength: 1 })) })),
  repositories: Type.Optional(Type.Array(RepositoryEntry)),
  plugins: Type.Optional(Type.Object({ installed: Type.Optional(Type.Array(InstalledEntry)) })),
  journal: Type.Optional(
    Type.Object({
      seq: Type.Optional(Type.Integer({ minimum: 0 })),
      /** Id of the event with that number: this file belongs to this journal. */
      event: Type.Optional(Type.String()),
    }),
  ),
})
export type HostFile = Static<typeof HostFile>

/** Levels of the file around a configuration: the file, `plugins`, `installed`, the entry. */
export const levelsAroundConfig = 4

export const parseHostFile = createParser(HostFile)
