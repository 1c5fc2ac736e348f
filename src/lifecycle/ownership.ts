import { Problem } from '../base/problem.ts'
import type { Integrity } from '../schema/journal/journal-event.ts'
import type { PluginError } from '../schema/plugin/plugin.ts'

/** Which of the installed plugins this host changes and runs. In a fleet another host may have them. */
export interface Ownership {
  owns(id: string): boolean
  /** Where it runs, for whoever asks. The same object as long as nothing changes. */
  whereabouts(id: string): Whereabouts
}

export interface Whereabouts {
  /** Name of the host that has it, and since which epoch; null: none, or there is no fleet. */
  readonly host: string | null
  readonly epoch: number | null
  /** Why no host runs it, although one should. */
  readonly absence: PluginError | null
  /** What is known of it may be old. */
  readonly stale: boolean
}

const here: Whereabouts = { host: null, epoch: null, absence: null, stale: false }

/** Of a host that works by itself. */
export const ownsAll: Ownership = { owns: () => true, whereabouts: () => here }

/** A command for a plugin that another host has, or is to have: nothing was done, and the command may go there. */
export class ElsewhereError extends Problem {
  constructor(plugin: string) {
    super(
      'plugin_moving',
      `${plugin} is moving to another host, and nothing was changed; try again in a second.`,
    )
  }
}

/** Where all hosts of a fleet find the files of plugins. */
export interface SharedFiles {
  /** Resolves when all of them are there: to be called before a fact names them. */
  put(contents: Iterable<Uint8Array>): Promise<void>
  /** The files that a fact names, each checked. Throws an Error that says what is missing. */
  fetch(plugin: string, integrity: Integrity): Promise<ReadonlyMap<string, Uint8Array>>
}
