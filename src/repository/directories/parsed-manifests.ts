import { evictOldest } from '../../base/evict-oldest.ts'
import type { PluginIdentifier } from '../../schema/names/identifier.ts'
import { type Manifest, parseManifest } from '../../schema/manifest/manifest.ts'
import { sha256 } from './storage.ts'

/** Bytes of a manifest from which it takes long to parse; a plugin that people write has a few thousand. */
const largeBytes = 64 * 1024
/** Large manifests that are kept: of an installed plugin it is in memory anyway. */
const mostKept = 16

/** As `parseManifest`; a large one is parsed once, however often it is read. */
export function createManifestParser(): (bytes: Uint8Array, plugin: PluginIdentifier) => Manifest {
  const kept = new Map<string, Manifest>()
  return (bytes, plugin) => {
    if (bytes.length < largeBytes) return parseManifest(bytes, plugin)
    const key = `${plugin.fullId} ${sha256(bytes)}`
    const manifest = kept.get(key) ?? parseManifest(bytes, plugin)
    // What was asked for last is kept longest.
    kept.delete(key)
    kept.set(key, manifest)
    evictOldest(kept, mostKept)
    return manifest
  }
}
