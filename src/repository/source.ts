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
