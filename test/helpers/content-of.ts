import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'

/** Every file below a folder by its path from there, one character a byte, and every other folder. */
export async function contentOf(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const found = entries.map(async (entry): Promise<[string, string]> => {
    const path = join(entry.parentPath, entry.name)
    return [relative(folder, path), entry.isFile() ? await readFile(path, 'latin1') : 'a folder']
  })
  return Object.fromEntries(await Promise.all(found))
}

/** What a host has written into its data directory, as one text: without the files of its plugins, which others wrote. */
export async function textOf(directory: string): Promise<string> {
  const files = Object.entries(await contentOf(directory)).filter(([path]) => !path.startsWith('plugins'))
  return files.map(([, text]) => text).join('\n')
}
