import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { checkConfig } from '../../src/lifecycle/manifests/config-rules.ts'
import { normaliseFields } from '../../src/lifecycle/manifests/fields.ts'
import { createHostEnvironment } from '../../src/lifecycle/permissions/plugin-environment.ts'
import { defaultRepositoryLimits } from '../../src/repository/limits.ts'
import { defaultLimits } from '../../src/sandbox/limits.ts'
import { isolateErrorCodes } from '../../src/sandbox/isolate.ts'
import { optionsByHeading } from '../../src/sandbox/worker/plugin-api/option-names.ts'
import { messageSizeLimit } from '../../src/sandbox/worker/plugin-api/listeners.ts'
import { objectBytesLimit } from '../../src/sandbox/worker/plugin-api/values/objects.ts'
import { fieldDefinitions, settingsLimit } from '../../src/schema/manifest/field-definition.ts'
import { Manifest, parseManifestShape } from '../../src/schema/manifest/manifest.ts'
import { callDepthLimit } from '../../src/schema/worker/plugin-call.ts'
import type { Config } from '../../src/schema/plugin/plugin.ts'
import { limitDefinitions } from '../../src/schema/plugin/limit-definitions.ts'
import { limitNames, limitUnit } from '../../src/schema/plugin/plugin-limits.ts'
import { startWebServer } from '../outside/web-server.ts'
import { withOutside } from '../sandbox/outside-stage.ts'
import { linesOf, pluginSource, printedIn, rawSource, withPlugin } from '../sandbox/stage.ts'
import { blocks, guide, headingCodes, namesUnder, readStub, rowsUnder, stub as stubText } from './guide.ts'

/** Names by table, as a plugin finds them. */
const found = new Map<string, string[]>()
const stub = readStub()

/** Lists every table of the API that a plugin can get hold of, one a line. */
const probe = `
  local function tell(what, table_)
    local names = {}
    for name in pairs(table_) do names[#names + 1] = tostring(name) end
    table.sort(names)
    print("found " .. what .. " " .. table.concat(names, " "))
  end
  tell("Plugin", Plugin)
  tell("instance", plugin)
  tell("globals", _G)
  for name, value in pairs(_G) do
    if type(value) == "table" and name ~= "Plugin" and name ~= "_G" then tell(name, value) end
  end
  tell("ModbusStats", Modbus.stats())
  tell("sensor", plugin:sensor("s", function() end))
  tell("control", plugin:control("c", function() end, function() end))
  tell("httpStream", plugin:httpStream({ url = "http://127.0.0.1:1/" }))
  tell("webSocket", plugin:webSocket("ws://127.0.0.1:1/"))
  tell("stream", plugin:tcpConnect("127.0.0.1", 1))
  tell("udpSocket", plugin:udpSocket())
  tell("search", plugin:discover("_http._tcp", print))
  for _, other in ipairs(Plugin.list()) do tell("listed", other) end
  local poller
  poller = plugin:poller("p", {
    onTick = function() error("no") end,
    onError = function(_, stats) tell("stats", stats) end,
  })
  tell("poller", poller)
  plugin:onInit(function(config)
    poller.poll()
    plugin:httpRequest({ url = config.url, parseJson = "always" }, function(response)
      tell("response", response)
      print("done")
    end)
  end)
`

before(async () => {
  const server = await startWebServer((_seen, response) => response.writeHead(404).end('{"message":"gone"}'))
  try {
    await withOutside(
      pluginSource(probe, { config: { url: server.url }, host: 'cellar', epoch: 1 }),
      async ({ recorder }) => {
        await recorder.logged('done')
        await recorder.logged('found stats')
        for (const line of recorder.logs()) {
          const [, what = '', names] = /^info found (\S+) (.*)$/.exec(line) ?? []
          if (names !== undefined) found.set(what, names.split(' '))
        }
      },
      {
        prepare({ services }) {
          services.listPlugins = () => [
            {
              id: '@test/other',
              shortId: 'other',
              name: 'Other',
              version: '1.0.0',
              description: 'Another one',
              enabled: true,
            },
          ]
        },
      },
    )
  } finally {
    await server.close()
  }
})

const inSandbox = (what: string): string[] => found.get(what) ?? []
const inStub = (name: string): string[] => [...(stub.classes.get(name) ?? [])].sort()
const unique = (names: string[]): string[] => [...new Set(names)].sort()

/** Lua's own, of which the language server knows. */
const luaTables = ['string', 'table', 'math', 'os', 'coroutine', 'utf8'] as const

test('every method of a plugin has a heading in the guide and a function in the stub', () => {
  const documented = headingCodes.flatMap((code) => /^[pP]lugin[:.](\w+)\(/.exec(code)?.slice(1) ?? [])
  assert.deepEqual(unique(documented), inSandbox('Plugin'))
  const instance = inSandbox('instance')
  assert.deepEqual(
    inStub('lupine.Plugin').filter((name) => !instance.includes(name)),
    inSandbox('Plugin'),
  )
})

test('every field of an instance is documented', () => {
  assert.deepEqual(namesUnder('`Plugin:new(id, meta)`'), inSandbox('instance'))
  const methods = inSandbox('Plugin')
  assert.deepEqual(
    inStub('lupine.Plugin').filter((name) => !methods.includes(name)),
    inSandbox('instance'),
  )
})

test('every global is documented', () => {
  const headings = headingCodes.flatMap(
    (code) => /^([A-Za-z]\w*)(?:\(|$|[:.]\w+\()/.exec(code)?.slice(1) ?? [],
  )
  const documented = [...headings, ...namesUnder('Lua itself')].filter((name) => name !== 'plugin')
  assert.deepEqual(unique(documented), inSandbox('globals'))
  const ofLua = namesUnder('Lua itself')
  const ownOfLupine = inSandbox('globals').filter((name) => !ofLua.includes(name))
  // What 5.3 does not have, or has otherwise, is in the stub as well.
  const others = ['os', 'require', 'unpack']
  assert.deepEqual(unique([...stub.globals.keys(), ...stub.functions]), unique([...ownOfLupine, ...others]))
})

test('the libraries of Lua are listed as they are', () => {
  const rows = new Map(rowsUnder('Lua itself').map(([name = '', what = '']) => [name, what]))
  for (const name of luaTables) {
    assert.deepEqual((rows.get(`\`${name}\``) ?? '').replaceAll('`', '').split(' '), inSandbox(name), name)
  }
  assert.deepEqual(inStub('lupine.os'), inSandbox('os'))
  assert.deepEqual([...stub.additions].sort(), [
    'math.frexp',
    'math.ldexp',
    'math.log10',
    'math.pow',
    'table.maxn',
  ])
})

for (const [what, heading, className] of [
  ['poller', 'What a poller has', 'lupine.Poller'],
  ['stats', 'Statistics of a poller', 'lupine.PollerStats'],
  ['control', 'What sensors and controls have', 'lupine.Control'],
  ['response', 'The response', 'lupine.HttpResponse'],
  ['listed', 'Fields of a listed plugin', 'lupine.ListedPlugin'],
  ['webSocket', 'What a WebSocket has', 'lupine.WebSocket'],
  ['httpStream', 'What a stream over HTTP has', 'lupine.HttpStream'],
  ['stream', 'What a TCP connection has', 'lupine.Stream'],
  ['udpSocket', 'What a UDP socket has', 'lupine.UdpSocket'],
  ['search', 'What a search has', 'lupine.Discovery'],
] as const) {
  test(`every member of "${heading}" is documented, and no other`, () => {
    assert.deepEqual(unique(namesUnder(heading)), inSandbox(what))
    assert.deepEqual(inStub(className), inSandbox(what))
  })
}

test('a sensor is a control without set', () => {
  assert.deepEqual(
    inSandbox('sensor'),
    inSandbox('control').filter((name) => name !== 'set'),
  )
  assert.deepEqual(inStub('lupine.Sensor'), inSandbox('sensor'))
})

test('every member of Modbus is documented', () => {
  const documented = [...namesUnder('Functions of Modbus'), ...namesUnder('Function codes')]
  assert.deepEqual(unique(documented), inSandbox('Modbus'))
  assert.deepEqual(inStub('lupine.Modbus'), inSandbox('Modbus'))
  assert.deepEqual(inStub('lupine.ModbusStats'), inSandbox('ModbusStats'))
  const [, stats = ''] = rowsUnder('Functions of Modbus').find(([name]) => name === '`stats()`') ?? []
  assert.deepEqual([...stats.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort(), inSandbox('ModbusStats'))
})

for (const [name, className] of [
  ['JSON', 'lupine.JsonLibrary'],
  ['Logger', 'lupine.Logger'],
  ['EventBus', 'lupine.EventBus'],
] as const) {
  test(`every member of ${name} is documented`, () => {
    const documented = [...guide.matchAll(new RegExp(`\`${name}:(\\w+)\\(`, 'g'))].map(
      ([, method = '']) => method,
    )
    assert.deepEqual(unique(documented), inSandbox(name))
    assert.deepEqual(inStub(className), inSandbox(name))
  })
}

for (const [name, className] of [
  ['base64', 'lupine.Base64'],
  ['hex', 'lupine.Hex'],
  ['url', 'lupine.Url'],
  ['crypto', 'lupine.Crypto'],
  ['xml', 'lupine.Xml'],
  ['csv', 'lupine.Csv'],
  ['jsonpath', 'lupine.JsonPath'],
  ['template', 'lupine.Template'],
  ['numbers', 'lupine.Numbers'],
] as const) {
  test(`every function of ${name} is documented`, () => {
    assert.deepEqual(namesUnder(`\`${name}\``), inSandbox(name))
    assert.deepEqual(inStub(className), inSandbox(name))
  })
}

for (const [heading, className] of [
  ['The request', 'lupine.HookRequest'],
  ['Options of a handler', 'lupine.HookOptions'],
  ['Options of a poller', 'lupine.PollerOptions'],
  ['Options of a schedule', 'lupine.ScheduleOptions'],
  ['Options of a watcher', 'lupine.WatchOptions'],
  ['Options of an event', 'lupine.EmitOptions'],
  ['Options of an exposure', 'lupine.ExposeOptions'],
  ['Options of a request', 'lupine.HttpOptions'],
  ['Options of a Modbus request', 'lupine.ModbusOptions'],
  ['Options of a WebSocket', 'lupine.WebSocketOptions'],
  ['Options of a TCP connection', 'lupine.TcpOptions'],
  ['Options of a UDP socket', 'lupine.UdpOptions'],
  ['Options of a serial port', 'lupine.SerialOptions'],
  ['Options of a search', 'lupine.DiscoveryOptions'],
  ['What was found', 'lupine.Finding'],
] as const) {
  test(`the guide and the stub name the same "${heading}"`, () => {
    assert.deepEqual(namesUnder(heading), inStub(className))
  })
}

for (const [what, options] of Object.entries(optionsByHeading)) {
  const names = options.split(' ').map((option) => option.replace(/:.*/, ''))
  test(`the guide names the same options of ${what} as the code knows`, () => {
    assert.deepEqual(namesUnder(`Options of ${what}`), names.sort())
  })
}

test('the stub is Lua, and the language server takes it for a description', async () => {
  assert.match(stubText, /^---@meta\n/)
  assert.deepEqual(
    await linesOf(rawSource(`local new = Plugin.new ${stubText} new("probe") print("read")`)),
    ['read'],
  )
})

test('the tables of the manifest are those of its schema', () => {
  assert.deepEqual(namesUnder('The manifest'), Object.keys(Manifest.properties).sort())
  assert.deepEqual(namesUnder('Configuration'), Object.keys(fieldDefinitions.entry.properties).sort())
})

test('nothing is called on a plugin that is not there', () => {
  const defined = [...guide.matchAll(/function plugin:(\w+)/g)].map(([, name]) => name)
  const called = [...guide.matchAll(/\bplugin:(\w+)\(/g)].map(([, name = '']) => name)
  const known = new Set([...defined, ...inSandbox('Plugin')])
  assert.deepEqual(
    called.filter((name) => !known.has(name)),
    [],
  )
})

/** The configuration that the manifest in the guide gives to the plugin of this id. */
function configOf(id: string): Config {
  for (const block of blocks('json')) {
    const parsed = parseManifestShape(JSON.parse(block))
    if (!parsed.ok || parsed.value.id !== id) continue
    const { errors, missing, effective } = checkConfig(
      normaliseFields(parsed.value),
      {},
      createHostEnvironment({}, undefined)(parsed.value),
    )
    assert.deepEqual([...errors, ...missing], [])
    return effective
  }
  return {}
}

const examples = blocks('lua')
const files = { 'words.lua': Buffer.from(examples.find((code) => code.includes('return words')) ?? '') }

/** A whole plugin as it is; anything else as the body of an init callback. */
function sourceOf(code: string) {
  const [, id] = /Plugin:new\("([\w-]+)"/.exec(code) ?? []
  if (id === undefined) return pluginSource(`plugin:onInit(function(config) ${code} end)`, { files })
  return rawSource(code, { id: `@guide/${id}`, shortId: id, namespace: 'guide', config: configOf(id), files })
}

const singleSpaced = (text: string): string => text.trim().replace(/\s+/g, ' ')

for (const [index, code] of examples.entries()) {
  const title = code.split('\n').find((line) => line.trim() !== '') ?? ''
  test(`example ${index + 1} runs, and prints what it says: ${title}`, async () => {
    const expected = [...code.matchAll(/--> (.*)$/gm)].map(([, text = '']) => singleSpaced(text))
    await withPlugin(sourceOf(code), ({ recorder }) => {
      const logs = recorder.logs()
      assert.deepEqual(
        logs.filter((line) => line.startsWith('error ')),
        [],
      )
      if (expected.length === 0) return
      assert.deepEqual(printedIn(recorder).map(singleSpaced), expected)
    })
  })
}

test('there are examples, and most of them print something that is checked', () => {
  assert.ok(examples.length >= 40, `${examples.length}`)
  assert.ok([...guide.matchAll(/--> /g)].length >= 30, 'checked lines')
})

const second = 1_000
const mebibyte = 1024 * 1024
const withComma = (value: number): string => value.toLocaleString('en')

test('the limits that an owner may set are those of the code, with their bounds, and no others', () => {
  const table = rowsUnder('Limits').filter(([, , name]) => name?.startsWith('`'))
  const expected = limitNames.map((name) => {
    const { default: usual, min, max, description } = limitDefinitions[name]
    return [
      description,
      usual === Number.POSITIVE_INFINITY ? 'none' : `${withComma(usual)}${limitUnit(name)}`,
      `\`${name}\`, ${withComma(min)} to ${withComma(max)}`,
    ]
  })
  assert.deepEqual(table, expected)
})

test('the limits are those of the code', () => {
  const rows = rowsUnder('Limits')
  const said = (what: string): string => rows.find(([name]) => name?.includes(what))?.[1] ?? ''
  for (const [what, expected] of [
    ['`onCleanup`', `${defaultLimits.cleanupTime / second} s`],
    ['calls within calls', `${callDepthLimit}`],
    ['an event, an object', `${messageSizeLimit / mebibyte} MiB`],
    ['all objects', `${objectBytesLimit / mebibyte} MiB`],
    [
      'files of a plugin',
      `${defaultRepositoryLimits.pluginFiles}, each ${defaultRepositoryLimits.fileBytes / mebibyte} MiB, together ${defaultRepositoryLimits.pluginBytes / mebibyte} MiB`,
    ],
    ['settings of a plugin', withComma(settingsLimit)],
  ] as const) {
    const row = said(what)
    assert.ok(row.startsWith(expected), `${what}: "${row}" should be ${expected}`)
  }
})

test('the guide tells every code that a failed load can have, and no other', () => {
  // What the loader itself finds, before an isolate is started, and a fault of its own.
  const ofTheLoader = ['config_invalid', 'dependency_unmet', 'internal']
  const withinTheSandbox = ['overran', 'overfilled', 'worker_full']
  const visible = isolateErrorCodes.filter((code) => !withinTheSandbox.includes(code))
  assert.deepEqual(namesUnder('Errors'), [...visible, ...ofTheLoader].sort())
})
