import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** A plugin to write into a repository: `lua` is its init.lua, `manifest` what goes beside the defaults. */
export interface FixturePlugin {
  id: string
  version?: string
  lua: string
  manifest?: Record<string, unknown>
  files?: Record<string, string>
}

/** Writes a directory repository with these plugins; call it again to publish other versions. */
export async function writeFixtureRepository(
  directory: string,
  plugins: readonly FixturePlugin[],
  namespace = 'fixtures',
): Promise<void> {
  for (const { id, version = '1.0.0', lua, manifest = {}, files = {} } of plugins) {
    const content: Record<string, string> = {
      'plugin.json': JSON.stringify({ id, name: `Fixture ${id}`, version, ...manifest }),
      'init.lua': lua,
      ...files,
    }
    for (const [file, text] of Object.entries(content)) {
      const path = join(directory, id, file)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text)
    }
  }
  const index = {
    version: 1,
    name: 'Fixtures',
    namespace,
    plugins: plugins.map(({ id, version = '1.0.0', manifest = {} }) => ({
      id,
      name: `Fixture ${id}`,
      version,
      path: id,
      ...(manifest.tags === undefined ? {} : { tags: manifest.tags }),
      ...(manifest.permissions === undefined ? {} : { permissions: manifest.permissions }),
      ...(manifest.minHostVersion === undefined ? {} : { minHostVersion: manifest.minHostVersion }),
    })),
  }
  await mkdir(directory, { recursive: true })
  await writeFile(join(directory, 'plugins.json'), JSON.stringify(index))
}

const onInit = (body: string): string => `
local plugin = Plugin:new("PLUGIN", {})
plugin:onInit(function(config)
  ${body}
end)
return plugin
`

/** The plugins that every test host offers. */
export const standardFixtures: readonly FixturePlugin[] = [
  {
    id: 'hello',
    lua: onInit('plugin:log("info", "hello " .. tostring(config.name))').replace('PLUGIN', 'hello'),
    manifest: {
      description: 'Says hello',
      tags: ['greeting'],
      configSchema: [
        { key: 'name', type: 'string', label: 'Name', default: 'world' },
        { key: 'interval', type: 'number', default: '60', min: 1, max: 3600 },
        { key: 'apiKey', type: 'string', secret: true },
      ],
      docs: [
        { title: 'Read me', file: 'README.md' },
        { title: 'Page', file: 'docs/page.html' },
      ],
    },
    files: { 'README.md': '# Hello\n', 'docs/page.html': '<script>alert(1)</script>' },
  },
  {
    id: 'demo',
    lua: `
local plugin = Plugin:new("demo")
local level = 5
plugin:onInit(function(config)
  plugin:upsertObject("room.lamp", { on = false, level = level })
  plugin:sensor("double", function() return level * 2 end)
  plugin:control("level", function() return level end, function(value)
    level = value
    plugin:updateObject("room.lamp", { level = level })
    plugin:get("double"):_notify()
    plugin:get("level"):_notify()
    plugin:emit("demo:level", { level = level })
  end)
  plugin:on("demo:ping", function(data) plugin:emit("demo:pong", data) end)
  plugin:mqttSubscribe("demo/in", function(topic, payload) plugin:mqttPublish("demo/out", payload) end)
  plugin:setInterval(3600000, function() end)
end)
plugin:onCleanup(function() plugin:log("info", "cleaned up") end)
`,
    manifest: {
      exports: {
        objects: { 'room.lamp': { type: 'Lamp' } },
        sensors: [{ id: 'double', type: 'number', description: 'Twice the level', unit: 'x' }],
        controls: [{ id: 'level', type: 'number', range: '0-10' }],
        events: [{ name: 'demo:level', description: 'The level has changed' }],
      },
    },
  },
  {
    id: 'needy',
    lua: onInit('plugin:log("info", "got " .. config.city)').replace('PLUGIN', 'needy'),
    manifest: { config: { city: { type: 'string', required: true }, mode: { enum: ['a', 'b'] } } },
  },
  { id: 'faulty', lua: onInit('error("broken on purpose")').replace('PLUGIN', 'faulty') },
  { id: 'syntax', lua: 'local x = = 1' },
  {
    id: 'dependent',
    lua: onInit('').replace('PLUGIN', 'dependent'),
    manifest: {
      dependencies: ['@fixtures/hello@^1.0.0'],
      configSchema: [
        {
          key: 'rows',
          type: 'list',
          label: 'Lamps',
          fields: [{ key: 'to', type: 'string', label: 'Topic' }],
        },
      ],
      permissions: { mqtt: { publish: ['${config.rows[].to}'] } },
    },
  },
  { id: 'future', lua: onInit('').replace('PLUGIN', 'future'), manifest: { minHostVersion: '99.0.0' } },
]

/** Others wait for its `isOpen()`; its control `open` sets that. */
export const gateFixture: FixturePlugin = {
  id: 'gate',
  lua: `
local plugin = Plugin:new("gate")
local open = false
plugin:control("open", function() return open end, function(value) open = value end)
function plugin:isOpen() return open end
return plugin
`,
}
