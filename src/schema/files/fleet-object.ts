import Type, { type Static } from 'typebox'
import { createParser } from '../parsing/parser.ts'

/**
 * What the object store of NATS says of an object (its architecture decision 20), as far as plugin files need it. The
 * name of a file is its SHA-256 in hexadecimal. `nuid`: where its chunks are. `deleted`: it is being written, or was
 * collected.
 */
export const FleetObject = Type.Object({
  name: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  bucket: Type.String(),
  nuid: Type.String({ pattern: '^[A-Za-z0-9]+$' }),
  size: Type.Integer({ minimum: 0 }),
  chunks: Type.Integer({ minimum: 0 }),
  digest: Type.Optional(Type.String()),
  mtime: Type.Optional(Type.String()),
  deleted: Type.Optional(Type.Boolean()),
})
export type FleetObject = Static<typeof FleetObject>
export const parseFleetObject = createParser(FleetObject)
