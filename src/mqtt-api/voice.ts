/** In a fleet each plugin is spoken for by the host that has it, and what belongs to none of them by one host. */
export interface Voice {
  /** Whether this host has the plugin, and so knows what is true of it. */
  knows(plugin: string): boolean
  /** Also where no host has it, and this one says so. */
  speaksFor(plugin: string): boolean
  speaksForAll(): boolean
}

/** Of a host that works by itself. */
export const speaksAlone: Voice = { knows: () => true, speaksFor: () => true, speaksForAll: () => true }
