import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  makeSecretKey,
  type MinisignSecretKey,
  signMinisign,
} from '../../src/base/keys/minisign-secret-key.ts'

/** Repositories with signatures, made as an author makes them. */

export const newKey = (): MinisignSecretKey => makeSecretKey().key

/** The files of a repository with every hash in the index, signed. `seconds`: the time of the signature. */
export function signedTree(
  tree: Readonly<Record<string, string>>,
  key: MinisignSecretKey,
  seconds = 1_000,
): Record<string, string> {
  const index = JSON.parse(tree['plugins.json'] ?? '')
  for (const entry of index.plugins) {
    const prefix = `${entry.path}/`
    const files = Object.entries(tree).filter(([path]) => path.startsWith(prefix))
    entry.sha256 = Object.fromEntries(
      files.map(([path, content]) => [
        path.slice(prefix.length),
        createHash('sha256').update(content).digest('hex'),
      ]),
    )
  }
  return withSignature({ ...tree, 'plugins.json': JSON.stringify(index) }, key, seconds)
}

/** The same files, with a signature of the index as it is. */
export function withSignature(
  tree: Readonly<Record<string, string>>,
  key: MinisignSecretKey,
  seconds = 1_000,
): Record<string, string> {
  const signature = signMinisign(Buffer.from(tree['plugins.json'] ?? ''), 'plugins.json', seconds, key)
  return { ...tree, 'plugins.json.minisig': signature }
}

/** Signs a repository in a folder. */
export async function signFolder(folder: string, key: MinisignSecretKey, seconds = 1_000): Promise<void> {
  const tree: Record<string, string> = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    tree[path.slice(folder.length + 1)] = await readFile(path, 'utf8')
  }
  const signed = signedTree(tree, key, seconds)
  for (const file of ['plugins.json', 'plugins.json.minisig']) {
    await writeFile(join(folder, file), signed[file] ?? '')
  }
}
