import type { Reference, SerializedValues } from '../../../schema/plugin-call.ts'
import type { LuaFunction, LuaRuntime, LuaTable, LuaValue } from '../lua/lua-value.ts'
import type { ExportedThings } from './exported-things.ts'
import type { ImportedThings } from './imported-things.ts'
import type { Served } from './served-calls.ts'
import { deserializeValues, serializeValues } from './serialized-values.ts'

/** Values on their way to other plugins and from them; what goes by reference is counted. */
export interface Handover {
  /** What this plugin has for a reference that it got. */
  resolve(reference: Reference): LuaValue
  unpack(serialized: SerializedValues): LuaValue[]
  /** `given`: as arguments, not as what was asked for. Throws what `serializeValues` throws. */
  pack(values: readonly LuaValue[], how: { given: boolean; withheld?: Served['withheld'] }): SerializedValues
  /** These came too late, or for nothing. */
  refuse(references: readonly Reference[]): void
  /** These were packed, and will not be sent. */
  takeBack(references: readonly Reference[]): void
}

export interface HandoverSettings {
  isolate: number
  /** Full id. */
  plugin: string
  runtime: LuaRuntime
  exported: ExportedThings
  imported: ImportedThings
}

export function createHandover(settings: HandoverSettings): Handover {
  const { isolate, plugin, runtime, exported, imported } = settings

  function resolve(reference: Reference): LuaValue {
    return reference.owner === isolate ? exported.find(reference.handle) : imported.receive(reference)
  }

  return {
    resolve,
    unpack: (serialized) => deserializeValues(serialized, { newTable: runtime.newTable, resolve }),
    pack(values, { given, withheld }) {
      const own: number[] = []
      function refer(thing: LuaTable | LuaFunction): Reference {
        const foreign = imported.referenceOf(thing)
        if (foreign !== undefined) return foreign
        const handle = exported.handleOf(thing, given)
        own.push(handle)
        return { owner: isolate, handle, type: thing.kind, plugin }
      }
      try {
        const serialized = serializeValues(values, withheld === undefined ? { refer } : { refer, withheld })
        exported.sent(own)
        return serialized
      } catch (error) {
        exported.unsent(own)
        throw error
      }
    },
    refuse(references) {
      for (const reference of references) if (reference.owner !== isolate) imported.refuse(reference)
    },
    takeBack(references) {
      for (const { owner, handle } of references) if (owner === isolate) exported.drop(handle, 1)
    },
  }
}
