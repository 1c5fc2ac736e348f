import { evictOldest } from '../../base/evict-oldest.ts'
import type { PluginIdentifier } from '../../schema/names/identifier.ts'
import { type Manifest, parseManifest } from '../../schema/manifest/manifest.ts'
import { sha256 } from './storage.ts'

/** Bytes of a manifest from which it takes long to parse; a plugin that people write has a few thousand. */
const largeBytes = 64 * 1024
/**
 * Bytes of the texts of large manifests that are kept. Read, one may take thirteen times as many, also when its plugin has long had
 * another version, or is gone.
 */
export const keptBytesLimit = 4 * 1024 * 1024

/** As `parseManifest`; a large one is parsed once, however often it is read. */
export function createManifestParser(): (bytes: Uint8Array, plugin: PluginIdentifier) => Manifest {
  const kept = new Map<string, { manifest: Manifest; bytes: number }>()
  return (bytes, plugin) => {
    if (bytes.length < largeBytes) return parseManifest(bytes, plugin)
    const key = `${plugin.fullId} ${sha256(bytes)}`
    const manifest = kept.get(key)?.manifest ?? parseManifest(bytes, plugin)
    // What was asked for last is kept longest.
    kept.delete(key)
    kept.set(key, { manifest, bytes: bytes.length })
    while (bytesOf(kept.values()) > keptBytesLimit) evictOldest(kept, kept.size - 1)
    return manifest
  }
}

function bytesOf(kept: Iterable<{ bytes: number }>): number {
  let sum = 0
  for (const { bytes } of kept) sum += bytes
  return sum
}
