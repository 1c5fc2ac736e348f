import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { journalFileName } from '../../src/journal/segments/segment.ts'
import { encodeLine } from '../../src/journal/lines/journal-line.ts'
import { type Fact, journalFormatVersion } from '../../src/schema/journal/journal-event.ts'

/** Lines that are written to the file at a time. */
const chunk = 5_000

/** What a plugin goes through again and again: an automation that toggles, a crash, a new configuration. */
const circle: [type: Fact['type'], state: string, data: (turn: number) => object][] = [
  ['PluginEnabled', 'loading', () => ({})],
  ['PluginLoaded', 'running', () => ({})],
  [
    'PluginCrashed',
    'failed',
    () => ({
      error: {
        code: 'worker_died',
        message: 'init.lua:12: attempt to index a nil value (field "answer")',
        at: '2026-01-01T00:00:00.000Z',
      },
    }),
  ],
  ['PluginLoadRequested', 'loading', () => ({ reason: 'restart' })],
  ['PluginLoaded', 'running', () => ({})],
  [
    'PluginConfigured',
    'running',
    (turn) => ({ config: { interval: turn, url: 'http://127.0.0.1:8080/values', room: 'cellar' } }),
  ],
  ['PluginDisabled', 'unloading', () => ({})],
  ['PluginUnloaded', 'unloaded', () => ({})],
]

/** Writes a journal as years of use leave it: `count` events of `plugins` plugins that are toggled, crash and are configured. */
export async function writeLongJournal(directory: string, count: number, plugins = 10): Promise<void> {
  const file = await open(join(directory, journalFileName), 'wx', 0o600)
  const revisions = new Array<number>(plugins).fill(0)
  let lines: string[] = []
  for (let seq = 1; seq <= count; seq += 1) {
    const number = (seq - 1) % plugins
    const turn = Math.floor((seq - 1) / plugins)
    const [type, state, data] =
      turn === 0
        ? ([
            'PluginInstallRequested',
            'installing',
            () => ({ repository: 'fixtures', version: '1.0.0' }),
          ] as const)
        : turn === 1
          ? ([
              'PluginInstalled',
              'installed',
              () => ({ version: '1.0.0', indexVersion: '1.0.0', repository: 'fixtures', integrity: {} }),
            ] as const)
          : (circle[(turn - 2) % circle.length] as (typeof circle)[number])
    revisions[number] = (revisions[number] ?? 0) + 1
    lines.push(
      encodeLine({
        version: journalFormatVersion,
        seq,
        id: uuidOf(seq),
        at: new Date(Date.UTC(2026, 0, 1) + seq * 1_000).toISOString(),
        type,
        plugin: `@fixtures/plugin-${number}`,
        data: data(turn),
        revision: revisions[number],
        by: 'http',
        state,
      }),
    )
    if (lines.length === chunk || seq === count) {
      await file.write(`${lines.join('\n')}\n`)
      lines = []
    }
  }
  await file.close()
}

function uuidOf(seq: number): string {
  const digits = createHash('md5').update(String(seq)).digest('hex')
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
