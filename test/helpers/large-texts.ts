import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { journalFileName } from '../../src/journal/segments/segment.ts'
import { encodeLine } from '../../src/journal/lines/journal-line.ts'
import { journalFormatVersion } from '../../src/schema/journal/journal-event.ts'

/** What an older version wrote: one text of 8 MB, and some that the inspector looked at for a minute each. */
const usualSizes = [8_000_000, 400_000, 400_000, 400_000]

/** Writes a journal with a plugin for each size, of which the last word is an error of that many bytes. Answers their ids. */
export async function writeLargeTexts(directory: string, sizes = usualSizes): Promise<string[]> {
  const at = '2026-01-01T00:00:00.000Z'
  const ids = sizes.map((_, number) => `@fixtures/plugin-${number}`)
  const facts = sizes.flatMap((size, number) => {
    // All that an expression for addresses stumbles over: the beginnings of very many schemes.
    const message = size === 8_000_000 ? 'E'.repeat(size) : 'e.'.repeat(size / 2)
    const error = { code: 'lua_error', message, at }
    const steps: [type: string, state: string, data: object][] = [
      ['PluginInstallRequested', 'installing', { repository: 'fixtures', version: '1.0.0' }],
      [
        'PluginInstalled',
        'installed',
        { version: '1.0.0', indexVersion: '1.0.0', repository: 'fixtures', integrity: {} },
      ],
      ['PluginEnabled', 'loading', {}],
      ['PluginLoadFailed', 'failed', { error }],
    ]
    return steps.map(([type, state, data], step) => ({
      type,
      state,
      data,
      revision: step + 1,
      plugin: ids[number],
    }))
  })
  const lines = facts.map(({ type, plugin, data, revision, state }, position) =>
    encodeLine({
      version: journalFormatVersion,
      seq: position + 1,
      id: randomUUID(),
      at,
      type,
      plugin,
      data,
      revision,
      by: 'http',
      state,
    }),
  )
  await writeFile(join(directory, journalFileName), `${lines.join('\n')}\n`, { mode: 0o600 })
  return ids
}
