import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { problemTable } from '../../src/base/problem.ts'
import { mqttVerbs } from '../../src/schema/api/mqtt-request.ts'
import { hostFacts, pluginFacts } from '../../src/schema/journal/journal-event.ts'
import { installAndStart, startHostFor } from '../helpers/test-host.ts'

/** The tables of docs/reference.md have all that there is, and nothing else. */

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'reference.md'), 'utf8')

/** Rows of the tables below a heading, by what stands in code in the first cell. */
function rowsBelow(heading: string): Map<string, string[]> {
  const [, part = ''] = page.split(`## ${heading}\n`)
  const [section = ''] = part.split('\n## ')
  return new Map(
    [...section.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)].map(([, name = '', rest = '']) => [
      name,
      rest.split(' | ').map((cell) => cell.trim()),
    ]),
  )
}

/** Told once below the table, as they stand in many facts. */
const everywhere = ['keepsRevision', 'formerSecrets']

test('every event of the journal is on the page, with each member of its data', () => {
  const rows = rowsBelow('Events of the journal')
  const facts = Object.entries({ ...pluginFacts, ...hostFacts })
  assert.deepEqual(
    [...rows.keys()],
    facts.map(([type]) => type),
  )
  const missing = facts.flatMap(([type, { properties }]) => {
    const text = rows.get(type)?.at(-1) ?? ''
    const all = text.includes('as `PluginInstalled`') ? text + rows.get('PluginInstalled')?.at(-1) : text
    return Object.keys(properties)
      .filter((member) => !everywhere.includes(member) && !all.includes(`\`${member}\``))
      .map((member) => `${type}.${member}`)
  })
  assert.deepEqual(missing, [])
})

test('every code of an error is on the page, with its status and its title', () => {
  const shown = [...rowsBelow('Codes of errors')].map(([code, [status, title]]) => [code, status, title])
  const known = Object.entries(problemTable).map(([code, { status, title }]) => [code, `${status}`, title])
  assert.deepEqual(shown, known)
})

test('every request over MQTT is on the page', () => {
  assert.deepEqual([...rowsBelow('Requests over MQTT').keys()], mqttVerbs)
})

test('every file that a host makes in its data directory is on the page', async (t) => {
  const lua = `local plugin = Plugin:new("meter")
plugin:kvSet("count", 1)
plugin:mqttPublish("meter/count", "1", { retain = true })
return plugin`
  const host = await startHostFor(t, { plugins: [{ id: 'meter', lua }] })
  await installAndStart(host, 'meter')
  await host.host.close()
  const made = await readdir(host.directory)
  assert.ok(made.includes('.kv') && made.includes('.retained'), made.join())
  const [, section = ''] = page.split('## Files of the data directory\n')
  const places = [...section.matchAll(/`([^`/<]+)[^`]*`/g)].map(([, place]) => place)
  assert.deepEqual(
    made.filter((name) => !places.includes(name)),
    [],
  )
})
