/** One place that plugins come from: a directory or a web server. It gives bytes, and knows no plugins. */
export interface Source {
  /** `plugins.json`, unless it is still the one that `known` was given for. */
  readIndex(known: Validators | undefined, signal: AbortSignal): Promise<FetchedIndex | 'unchanged'>
  /**
   * A file by its path relative to the index, at most `limit` bytes; undefined when it is not there. `vouched`: the
   * index has its sha256, so it may come from another server that this one redirects to.
   */
  readFile(
    path: string,
    limit: number,
    signal: AbortSignal,
    vouched?: boolean,
  ): Promise<Uint8Array | undefined>
  /** The place as people may see it, without credentials. */
  readonly place: string
  /** Whether the index may be kept for a while: a look into a directory costs nothing. */
  readonly remote: boolean
}

/** What a web server gave to ask it "has this changed?" with. */
export interface Validators {
  etag?: string
  lastModified?: string
}

export interface FetchedIndex {
  bytes: Uint8Array
  validators: Validators
}

/** Why a source could not be read: the rest of a sentence, and what to do. */
export class SourceError extends Error {
  override readonly name = 'SourceError'
}

/** A source that was read, and lacks a file of a plugin. `path` is relative to the index. */
export class MissingFileError extends SourceError {
  readonly path: string
  /** `@ns/id needs init.lua` */
  readonly need: string

  constructor(plugin: string, file: string, path: string) {
    super(`${plugin} needs ${file}, but it is not there; tell its maintainer`)
    this.path = path
    this.need = `${plugin} needs ${file}`
  }
}
