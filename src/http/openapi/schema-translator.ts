import type { TSchema } from 'typebox'

/** Turns the schemas that validate into those of the API's description. Pure. */

export interface SchemaTranslator {
  /** The schema as JSON; a named one becomes a reference. */
  translate(schema: TSchema): object
  /** The named schemas that were referred to so far, and those that these refer to. */
  components(): Record<string, object>
}

type Members = Readonly<Record<string, unknown>>

/** `named`: schemas that are described once, known by their identity. */
export function createSchemaTranslator(named: Readonly<Record<string, TSchema>>): SchemaTranslator {
  const names = new Map<unknown, string>(Object.entries(named).map(([name, schema]) => [schema, name]))
  const used = new Map<string, unknown>()

  function visit(node: unknown, top: unknown): unknown {
    if (Array.isArray(node)) return node.map((item) => visit(item, top))
    if (typeof node !== 'object' || node === null) return node
    const name = node === top ? undefined : names.get(node)
    if (name !== undefined) {
      if (!used.has(name)) {
        // Entered before it is described: a schema may speak of itself.
        used.set(name, undefined)
        used.set(name, visit(node, node))
      }
      return { $ref: `#/components/schemas/${name}` }
    }
    // TypeBox's own marks (`~kind`) cannot be enumerated, so they do not come along.
    const members = Object.entries(node).map(([key, value]) => [key, visit(value, top)] as const)
    return withEnumeration(Object.fromEntries(members))
  }

  return {
    translate: (schema) => asObject(visit(schema, undefined)),
    components: () =>
      Object.fromEntries(
        [...used]
          .sort(([one], [other]) => (one < other ? -1 : 1))
          .map(([name, schema]) => [name, asObject(schema)]),
      ),
  }
}

/** A choice of constants of one type, as people write it and as generators of clients understand it. */
function withEnumeration(members: Members): Members {
  const { anyOf, ...rest } = members
  if (!Array.isArray(anyOf) || anyOf.length === 0) return members
  const branches = anyOf.map((branch: unknown) => asObject(branch) as Members)
  const [type] = branches.map((branch) => branch.type)
  const isChoice = branches.every(
    (branch) => 'const' in branch && branch.type === type && Object.keys(branch).length === 2,
  )
  return isChoice ? { type, enum: branches.map((branch) => branch.const), ...rest } : members
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}
