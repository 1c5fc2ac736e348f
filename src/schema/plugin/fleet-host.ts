import Type, { type Static } from 'typebox'

/** Hosts of a fleet, and which of them a plugin may run on (contract, section 9). */

const namePattern = /^[A-Za-z0-9_-]{1,32}$/

/** Name of a host, of a fleet, and of what a host has. */
const FleetName = Type.String({ pattern: namePattern.source })

export function isFleetName(text: string): boolean {
  return namePattern.test(text)
}

/** Most labels that a plugin asks for. */
const labelsLimit = 32

/** A live host. */
export const FleetHost = Type.Object({
  id: FleetName,
  address: Type.String({ description: 'Base URL of its HTTP API' }),
  labels: Type.Array(FleetName),
  plugins: Type.Integer({ minimum: 0, description: 'How many it runs' }),
  since: Type.String({ description: 'When it joined at its last start, by its own clock; ISO 8601, UTC' }),
  seen: Type.String({ description: 'When it was heard of last; ISO 8601, UTC' }),
  version: Type.String({ description: 'Of the program' }),
  draining: Type.Boolean({ description: 'It gives its plugins to the others, and takes none' }),
})
export type FleetHost = Static<typeof FleetHost>

/** Where a plugin may run; without a member: anywhere. */
export const Placement = Type.Object(
  {
    host: Type.Optional(FleetName),
    labels: Type.Optional(Type.Array(FleetName, { maxItems: labelsLimit, uniqueItems: true })),
  },
  { additionalProperties: false, description: 'It runs on this host only, and where all these labels are' },
)
export type Placement = Static<typeof Placement>

/** As part of a sentence: "the host attic with the labels serial, cellar". Undefined: any host will do. */
export function placementText({ host, labels = [] }: Placement = {}): string | undefined {
  if (host === undefined && labels.length === 0) return undefined
  const which = host === undefined ? 'a host' : `the host ${host}`
  return labels.length === 0 ? which : `${which} with the labels ${labels.join(', ')}`
}
