import type { Reference, SerializedValues } from '../../../schema/worker/plugin-call.ts'
import type { LuaFunction, LuaRuntime, LuaTable, LuaValue } from '../lua/lua-value.ts'
import type { ExportTable } from './export-table.ts'
import type { ImportTable } from './import-table.ts'
import type { Steps } from '../lua/steps.ts'
import type { Served } from './served-calls.ts'
import {
  deserializeFlat,
  deserializeValues,
  type Serialization,
  serializeFlat,
  serializeValues,
} from './serialized-values.ts'

/** Values on their way to other plugins and from them; what goes by reference is counted. */
export interface Handover {
  /** What this plugin has for a reference that it got. */
  resolve(reference: Reference): LuaValue
  /** Counts what is referred to, which has to be done when it comes. Tables are made later. */
  receive(serialized: SerializedValues): Received
  /** Throws what `serializeValues` throws. */
  pack(values: readonly LuaValue[], how: Packing): Steps<SerializedValues>
  /** The same without steps, for few values none of which is a table to be copied; undefined for others. */
  packFlat(values: readonly LuaValue[], how: Packing): SerializedValues | undefined
  /** These came too late, or for nothing. */
  refuse(references: readonly Reference[]): void
  /** These were packed, and will not be sent. */
  takeBack(references: readonly Reference[]): void
}

export interface Packing {
  /** As arguments, not as what was asked for. */
  given: boolean
  withheld?: Served['withheld']
}

export interface Received {
  /** What the values took on their way. */
  readonly bytes: number
  /** The values, unless it takes steps to make them. */
  readonly flat: LuaValue[] | undefined
  /** Throws what `deserializeValues` throws. */
  unpack(): Steps<LuaValue[]>
}

export interface HandoverSettings {
  isolate: number
  /** Full id. */
  plugin: string
  runtime: LuaRuntime
  exported: ExportTable
  imported: ImportTable
}

export function createHandover(settings: HandoverSettings): Handover {
  const { isolate, plugin, runtime, exported, imported } = settings

  function resolve(reference: Reference): LuaValue {
    return reference.owner === isolate ? exported.find(reference.handle) : imported.receive(reference)
  }

  /** How values are packed by this plugin, and what to count once they are, or will not be. */
  function packing({ given, withheld }: Packing): { how: Serialization; own: readonly number[] } {
    const own: number[] = []
    function refer(thing: LuaTable | LuaFunction): Reference {
      const foreign = imported.referenceOf(thing)
      if (foreign !== undefined) return foreign
      const handle = exported.handleOf(thing, given)
      own.push(handle)
      return { owner: isolate, handle, type: thing.kind, plugin }
    }
    return { how: { refer, withheld }, own }
  }

  return {
    resolve,
    receive({ body, references }) {
      const resolved = references.map(resolve)
      return {
        bytes: body.byteLength,
        flat: deserializeFlat(body, { resolved }),
        unpack: () => deserializeValues(body, { newTable: runtime.newTable, resolved }),
      }
    },
    packFlat(values, packed) {
      const { how, own } = packing(packed)
      let done = false
      try {
        const serialized = serializeFlat(values, how)
        exported.sent(own)
        done = true
        return serialized
      } finally {
        if (!done) exported.unsent(own)
      }
    },
    *pack(values, packed) {
      const { how, own } = packing(packed)
      let done = false
      try {
        const serialized = yield* serializeValues(values, how)
        exported.sent(own)
        done = true
        return serialized
      } finally {
        if (!done) exported.unsent(own)
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
