import type { KeyRing } from '../../base/keys/key-ring.ts'
import type { Vault } from '../../journal/vault.ts'
import { type KnownPlugins, secretPlaces } from './former-secrets.ts'
import { createSecretVault } from './secret-vault.ts'

/**
 * The vault of a journal, which is needed to open it. What versions of plugins before have declared secrets is known
 * when that is done: `follow` says so. Until then no manifest is known either, and every text and number may be a secret.
 */
export function createJournalVault(
  ring: KeyRing,
  manifests: KnownPlugins['manifests'],
): { vault: Vault; follow: (journal: KnownPlugins['journal']) => void } {
  let followed: KnownPlugins['journal'] | undefined
  return {
    vault: createSecretVault(ring, (id) => followed && secretPlaces({ journal: followed, manifests }, id)),
    follow(journal) {
      followed = journal
    },
  }
}
