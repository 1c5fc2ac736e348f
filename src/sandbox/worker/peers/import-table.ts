import type { Reference, Release } from '../../../schema/worker/plugin-call.ts'
import type { LuaFunction, LuaTable } from '../lua/lua-value.ts'

type Thing = LuaTable | LuaFunction

/**
 * What this plugin holds of others: a proxy for each thing, one and the same for as long as Lua has it.
 * When it is collected, it is released.
 */
export interface ImportTable {
  /** The proxy of a reference that has been received. */
  receive(reference: Reference): Thing
  /** What a value stands in for; undefined for what is this plugin's own. */
  referenceOf(value: Thing): Reference | undefined
  /** It was received, and will not be used. */
  refuse(reference: Reference): void
  clear(): void
}

interface Entry {
  reference: Reference
  proxy: WeakRef<Thing>
  received: number
}

export function createImportTable(
  make: (reference: Reference) => Thing,
  release: (releases: Release[]) => void,
): ImportTable {
  const entries = new Map<string, Entry>()
  const references = new WeakMap<Thing, Reference>()
  let collected: Release[] = []
  let scheduled: NodeJS.Immediate | undefined
  let closed = false

  const registry = new FinalizationRegistry<Entry>((entry) => {
    const key = keyOf(entry.reference)
    // Another proxy may have taken its place already; that one counts for itself.
    if (entries.get(key) === entry) entries.delete(key)
    giveBack(entry.reference, entry.received)
  })

  function giveBack({ owner, handle }: Reference, count: number): void {
    if (closed) return
    collected.push({ owner, handle, count })
    scheduled ??= setImmediate(send)
  }

  function send(): void {
    scheduled = undefined
    const releases = collected
    collected = []
    release(releases)
  }

  return {
    receive(reference) {
      const key = keyOf(reference)
      const known = entries.get(key)
      const present = known?.proxy.deref()
      if (known !== undefined && present !== undefined) {
        known.received += 1
        return present
      }
      const made = make(reference)
      const entry: Entry = { reference, proxy: new WeakRef(made), received: 1 }
      entries.set(key, entry)
      references.set(made, reference)
      registry.register(made, entry)
      return made
    },
    referenceOf: (value) => references.get(value),
    refuse: (reference) => giveBack(reference, 1),
    clear() {
      closed = true
      if (scheduled !== undefined) clearImmediate(scheduled)
      collected = []
      entries.clear()
    },
  }
}

const keyOf = ({ owner, handle }: Reference): string => `${owner}/${handle}`
