import { pluginFileLimit } from '../schema/manifest/manifest-consistency.ts'

/** What a repository may cost. It is another computer, or another person: it may do anything. */
export interface RepositoryLimits {
  /** Milliseconds for one file or index, redirects included. */
  requestTime: number
  /** Milliseconds for a whole plugin. */
  stageTime: number
  indexBytes: number
  /** Bytes of the file with the signature of an index. */
  signatureBytes: number
  fileBytes: number
  /** Bytes of all files of a plugin together. */
  pluginBytes: number
  pluginFiles: number
  redirects: number
  /** Milliseconds for which an index that was fetched counts as fresh in the catalog. */
  indexLifetime: number
  /** Files that are fetched side by side. */
  parallelRequests: number
}

const second = 1000
const mebibyte = 1024 * 1024

export const defaultRepositoryLimits: RepositoryLimits = {
  // Slow enough for a small board behind a mobile link, short enough for someone who waits for an answer.
  requestTime: 10 * second,
  // 200 small files at a slow place; nobody waits longer for an installation.
  stageTime: 60 * second,
  // Contract, section 7. An index of 1 MiB lists thousands of plugins.
  indexBytes: mebibyte,
  // minisign writes comments of at most 9 KiB.
  signatureBytes: 16 * 1024,
  fileBytes: mebibyte,
  pluginBytes: 10 * mebibyte,
  pluginFiles: pluginFileLimit,
  // Release pages redirect once or twice; more is a loop.
  redirects: 5,
  // Somebody who leafs through the catalog asks several times a minute.
  indexLifetime: 30 * second,
  // As many as a browser opens to one host, at most.
  parallelRequests: 4,
}
