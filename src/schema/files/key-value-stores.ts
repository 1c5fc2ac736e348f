import type { KeyValueEntry } from './key-value-file.ts'

/** The plugins' key-value stores: in memory while a plugin is loaded, and kept in files of this host, or in the store of a fleet. */
export interface KeyValueStores {
  /**
   * Reads the plugin's values; in a fleet it takes them over besides. Entries that have expired are left out. `report` gets a
   * sentence for whoever looks after the plugin of what is damaged, and was put aside, and of what the disk does not take.
   */
  open(plugin: string, report?: (sentence: string) => void): Promise<Record<string, KeyValueEntry>>
  /** Takes over a change; it is kept within a second, in a fleet while its store is there. */
  set(plugin: string, key: string, entry: KeyValueEntry | undefined): void
  /** Writes what is waiting, and forgets the values until they are opened again. */
  release(plugin: string): Promise<void>
  /** Removes the plugin's values, and what an interrupted write left of them. In a fleet its epoch stays, so that nobody brings them back. */
  remove(plugin: string): Promise<void>
  /**
   * Removes what writes left that a crash interrupted, and notes what is there: until `started` nobody looks for the rest. Only
   * for the start. Never rejects.
   */
  recover(): Promise<void>
  /** From now on each plugin's values are looked for when they are opened: somebody may have put them back. */
  started(): void
  /** Whose values cannot be written now, and why. In a fleet its store says so for all. */
  readonly failure?: string | undefined
  close(): Promise<void>
}
