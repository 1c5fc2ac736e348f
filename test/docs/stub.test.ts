import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { linesOf, pluginSource } from '../sandbox/stage.ts'
import { callsIn, type LuaTable } from './lua-calls.ts'
import { type Annotations, readAnnotations, type StubFunction } from './stub-annotations.ts'
import { readType, type StubType } from './stub-types.ts'

/**
 * `docs/lupine.lua`, read by a parser of its annotations: the language server itself is no package that could be
 * installed here. Checked are: each annotation can be read, each type that is used is defined and each that is defined is
 * used, each parameter is named by an annotation, what can be called in a running plugin can be called in the stub and the
 * other way about, and the tables that examples and starter plugins hand over have no options that the stub does not
 * know. `plugin-api.test.ts` compares the members of objects and options with the page.
 *
 * Not checked are: whether a type is the right one (that a number is no text), how many values a function returns, the
 * values within options, what is handed over in a variable, and calls on anything but `plugin` and the globals.
 */

const root = join(import.meta.dirname, '..', '..')
const stubText = readFileSync(join(root, 'docs', 'lupine.lua'), 'utf8')
const stub = readAnnotations(stubText)

/** The language server's own. */
const builtIn = new Set(
  'any nil boolean number integer string table function thread userdata unknown true false self T'.split(' '),
)

test('each annotation of the stub can be read', () => {
  assert.deepEqual(stub.faults, [])
  assert.ok(stub.functions.length > 90, `${stub.functions.length} functions`)
  assert.ok(stub.classes.size > 50, `${stub.classes.size} classes`)
})

test('what is no annotation is found', () => {
  for (const [text, fault] of [
    ['---@parm name string\nfunction f(name) end', "'@parm' is no annotation"],
    ['---@param name fun(a: string\nfunction f(name) end', 'a parameter is missing'],
    ['---@param name string|\nfunction f(name) end', 'a type expected'],
    ['---@class a\n---@field x string\n---@field x string', "'x' is there twice"],
    ['---@param name string\n', 'annotations of a function without the function'],
    ['-- @param name string', 'an annotation begins with ---@'],
    ['---@field x string', 'a field outside a class'],
  ] as const)
    assert.match(readAnnotations(text).faults.join('\n'), new RegExp(fault.replaceAll('|', '\\|')), text)
})

const defined = (name: string): boolean =>
  builtIn.has(name) || stub.classes.has(name) || stub.aliases.has(name)

test('each type that is used is defined, and each that is defined is used', () => {
  const undefinedTypes = stub.used.filter(({ name }) => !defined(name))
  assert.deepEqual(undefinedTypes, [])
  const used = new Set([...stub.used.map(({ name }) => name), ...stub.variables.values()])
  assert.deepEqual(
    [...stub.classes.keys(), ...stub.aliases.keys()].filter((name) => !used.has(name)),
    [],
  )
})

test('each parameter is named by an annotation, in its order, and no other is', () => {
  for (const { name, line, parameters, annotated } of stub.functions)
    assert.deepEqual([...annotated.keys()], parameters, `${name} in line ${line}`)
})

/** `<owner> <name> <type>` of all that a plugin finds. */
async function found(): Promise<Map<string, string>> {
  const lines = await linesOf(
    pluginSource(`
      local function tell(owner, table_)
        for name, value in pairs(table_) do print("found", owner, name, type(value)) end
      end
      tell("Plugin", Plugin)
      tell("Global", _G)
      for name, value in pairs(_G) do
        if type(value) == "table" and name ~= "_G" and name ~= "Plugin" then tell(name, value) end
      end
      tell("Sensor", plugin:sensor("s", function() end))
      tell("Control", plugin:control("c", function() end, function() end))
      tell("lupine.Poller", plugin:poller("p", { onTick = function() end }))
      tell("lupine.HttpStream", plugin:httpStream({ url = "http://127.0.0.1:1/" }))
      tell("lupine.WebSocket", plugin:webSocket("ws://127.0.0.1:1/"))
      tell("lupine.Stream", plugin:tcpConnect("127.0.0.1", 1))
      tell("lupine.UdpSocket", plugin:udpSocket())
      tell("lupine.ModbusStats", Modbus.stats())
      tell("lupine.XmlElement", xml.decode("<a>b</a>"))
      tell("lupine.UrlParts", url.parse("http://u:p@host:1/path?q#f"))
    `),
  )
  return new Map(
    lines.flatMap((line) => {
      const [head, owner, name, type = ''] = line.split('\t')
      return head === 'found' ? [[`${owner} ${name}`, type] as const] : []
    }),
  )
}

/** The same, as the stub has it: methods, and fields of tables that are functions or something else. */
function promised(): Map<string, string> {
  const names = new Map<string, string>()
  for (const { name } of stub.functions) {
    const [owner = '', method] = name.split(/[.:]/)
    names.set(method === undefined ? `Global ${owner}` : `${owner} ${method}`, 'function')
  }
  const variableOf = new Map([...stub.variables].map(([variable, name]) => [name, variable]))
  for (const [name, { fields }] of stub.classes)
    for (const [field, type] of fields)
      names.set(`${variableOf.get(name) ?? name} ${field}`, type.isFunction ? 'function' : 'other')
  return names
}

test('what can be called in a plugin can be called in the stub, and the other way about', async () => {
  const [inPlugin, inStub] = [await found(), promised()]
  const ofLua = new Set(['string', 'table', 'math', 'os', 'coroutine', 'utf8', 'Global'])
  // A control is a sensor with more.
  for (const [key, kind] of inStub)
    if (key.startsWith('Sensor ')) inStub.set(key.replace('Sensor', 'Control'), kind)
  const missing = [...inPlugin]
    .filter(([key, type]) => type === 'function' && !ofLua.has(key.split(' ')[0] ?? ''))
    .filter(([key]) => inStub.get(key) !== 'function')
  assert.deepEqual(missing, [])
  const owners = new Set([...inPlugin.keys()].map((key) => key.split(' ')[0]))
  const tooMany = [...inStub]
    .filter(([key, kind]) => kind === 'function' && owners.has(key.split(' ')[0]))
    .filter(([key]) => inPlugin.get(key) !== 'function')
  assert.deepEqual(tooMany, [])
  // Of these all members, functions or not.
  const whole = (names: Iterable<string>): string[] =>
    [...names].filter((key) => key.startsWith('lupine.') && owners.has(key.split(' ')[0])).sort()
  assert.deepEqual(whole(inStub.keys()), whole(inPlugin.keys()))
  assert.ok(inPlugin.size > 200, `${inPlugin.size} names`)
})

/** The options that a type takes, with what theirs take; undefined when it takes any. */
function optionsOf(type: StubType, annotations: Annotations): Map<string, StubType> | undefined {
  const options = new Map(type.members)
  let known = type.members.size > 0
  const seen = new Set<string>()
  const addType = (name: string): boolean => {
    if (seen.has(name)) return true
    seen.add(name)
    const alias = annotations.aliases.get(name)
    if (alias !== undefined) {
      for (const [member, of] of alias.members) options.set(member, of)
      known ||= alias.members.size > 0
      return alias.names.every(addType)
    }
    const found = annotations.classes.get(name)
    if (found === undefined) return name !== 'table' && name !== 'any' && name !== 'T'
    if (found.open) return false
    known = true
    for (const [field, of] of found.fields) options.set(field, of)
    return found.parent === undefined || addType(found.parent)
  }
  // Of members that are written out the names stand beside their own.
  const own = type.members.size > 0 ? [] : type.names
  return own.every(addType) && known ? options : undefined
}

const callable = new Map<string, StubFunction>()
for (const each of stub.functions) {
  callable.set(each.name, each)
  if (each.name.startsWith('Plugin:')) callable.set(each.name.replace('Plugin', 'plugin'), each)
}

function mistakes(table: LuaTable | undefined, type: StubType | undefined, where: string): string[] {
  if (table === undefined || type === undefined) return []
  const options = optionsOf(type, stub)
  if (options === undefined) return []
  return [...table.fields].flatMap(([name, inner]) => {
    const option = options.get(name)
    return option === undefined ? [`${where}: ${name}`] : mistakes(inner, option, `${where}.${name}`)
  })
}

function mistakesIn(code: string): string[] {
  return callsIn(code).flatMap(({ name, tables }) => {
    const { parameters = [], annotated } = callable.get(name) ?? {}
    return tables.flatMap((table, index) => mistakes(table, annotated?.get(parameters[index] ?? ''), name))
  })
}

test('an option that nobody knows is found, at every level', () => {
  const code = `
    -- plugin:emit("a", {}, { never = 1 })
    local done = plugin:emit("a", { any = { thing = 1 } }, { throttle = 1, thottle = 2 })
    plugin:poller("p", { onTick = function(d) if d then d({ x = 1 }) end end, retry = { max = 1 } }).start()
    expose(plugin:sensor("s", function() return { a = 1 } end), "sensor", { nam = "S", device = { id = "d", ide = 1 } })
    Modbus.readHolding({ host = "h", addres = 1 }, function(r, e) for i = 1, 2 do print({ q = 1 }) end end)
    plugin:httpStream({ url = "u", reconnect = { mix = 1 } }, { onEvnt = function() end })
    plugin:tcpConnect("h", 1, { tls = { serverNam = "x" }, framing = { length = 2 } })
    base64.encode("x", { ulr = true })
  `
  assert.deepEqual(mistakesIn(code), [
    'plugin:emit: thottle',
    'plugin:poller.retry: max',
    'expose: nam',
    'expose.device: ide',
    'Modbus.readHolding: addres',
    'plugin:httpStream.reconnect: mix',
    'plugin:httpStream: onEvnt',
    'plugin:tcpConnect.tls: serverNam',
    'base64.encode: ulr',
  ])
})

test('the examples of the pages and the starter plugins give no options that the stub does not know', () => {
  const files = ['docs', 'repository'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(lua|md)$/.test(name) && name !== 'lupine.lua')
      .map((name) => join(root, folder, name)),
  )
  let calls = 0
  const found = files.flatMap((file) => {
    const text = readFileSync(file, 'utf8')
    const codes = file.endsWith('.lua')
      ? [text]
      : [...text.matchAll(/^```lua\n(.*?)^```$/gms)].map(([, code = '']) => code)
    return codes.flatMap((code) => {
      calls += callsIn(code).filter(({ name, tables }) => callable.has(name) && tables.some(Boolean)).length
      return mistakesIn(code).map((mistake) => `${relative(root, file)}: ${mistake}`)
    })
  })
  assert.deepEqual(found, [])
  assert.ok(calls > 100, `${calls} calls with tables`)
})

test('types are read as the language server reads them', () => {
  for (const [text, names, rest] of [
    ['string? name of it', ['string'], ' name of it'],
    ['table<string, string|number[]> Found', ['table', 'string', 'string', 'number'], ' Found'],
    [
      'fun(a: string, b?: integer, ...: any): boolean?, string',
      ['string', 'integer', 'any', 'boolean', 'string'],
      '',
    ],
    ['(string|integer)[]|{ a: boolean }', ['string', 'integer', 'boolean'], ''],
    ['"a"|"b" Default', [], ' Default'],
  ] as const) {
    const { type, rest: left } = readType(text)
    assert.deepEqual([type.names, left], [names, rest], text)
  }
})
