import assert from 'node:assert/strict'
import { test } from 'node:test'
import { command, startHostFor } from '../helpers/test-host.ts'

/** Plugins that know each other, in a whole host. */
const plugins = [
  {
    id: 'sun',
    manifest: { description: 'Where the sun is' },
    lua: `local plugin = Plugin:new("sun") function plugin:elevation() return 12.5, plugin.id end`,
  },
  { id: 'idle', version: '2.1.0', lua: `local plugin = Plugin:new("idle")` },
  {
    id: 'asker',
    lua: `
      local plugin = Plugin:new("asker")
      plugin:control("ask", function() return answer end, function(what)
        local sun = Plugin.get("sun")
        local list = {}
        for _, p in ipairs(Plugin.list()) do
          list[#list + 1] = { p.id, p.shortId, p.name, p.version, p.description or "none", p.enabled }
        end
        answer = { list = list, sun = sun and { sun:elevation() } or "not running" }
      end)
    `,
  },
]

test('§9 Plugin.list and Plugin.get see what is installed and what runs, as it is now', async (context) => {
  const host = await startHostFor(context, { plugins })
  const ask = async () => {
    const id = encodeURIComponent('@fixtures/asker')
    const { status, body } = await host.request('PUT', `/api/plugins/${id}/controls/ask`, {
      body: { value: 'now' },
    })
    assert.equal(status, 200, JSON.stringify(body))
    return body.value
  }
  for (const { id } of plugins) await command(host, 'install', { fullId: `@fixtures/${id}` })
  await command(host, 'asker/toggle')
  await command(host, 'sun/toggle')
  const line = (id: string, version: string, description: string, enabled: boolean) => [
    `@fixtures/${id}`,
    id,
    `Fixture ${id}`,
    version,
    description,
    enabled,
  ]
  assert.deepEqual(await ask(), {
    list: [
      line('asker', '1.0.0', 'none', true),
      line('idle', '2.1.0', 'none', false),
      line('sun', '1.0.0', 'Where the sun is', true),
    ],
    sun: [12.5, '@fixtures/sun'],
  })
  await command(host, 'sun/toggle')
  assert.equal((await ask()).sun, 'not running')
  await command(host, 'sun/toggle')
  assert.deepEqual((await ask()).sun, [12.5, '@fixtures/sun'])
})
