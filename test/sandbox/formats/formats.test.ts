import assert from 'node:assert/strict'
import { createCipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { linesOf, pluginSource, withPlugin } from '../stage.ts'

/** What each expression gives, joined by a blank bar; `show` writes tables as JSON. */
async function valuesOf(expressions: readonly string[]): Promise<string[]> {
  const show = `
    local function show(...)
      local shown = {}
      for i = 1, select("#", ...) do
        local value = select(i, ...)
        shown[i] = type(value) == "table" and plugin:jsonEncode(value) or tostring(value)
      end
      print(table.concat(shown, " | "))
    end
  `
  return linesOf(pluginSource(show + expressions.map((one) => `show(${one})`).join('\n')))
}

async function assertValues(
  table: readonly (readonly [expression: string, expected: string])[],
): Promise<void> {
  const values = await valuesOf(table.map(([expression]) => expression))
  assert.deepEqual(
    table.map(([expression], index) => [expression, values[index]]),
    table.map((row) => [...row]),
  )
}

const refusal = (message: string): string => `nil | ${message}`

test('§16 base64 encodes bytes with and without padding, and refuses what is none', () =>
  assertValues([
    ['base64.encode("")', ''],
    ['base64.encode("f"), base64.encode("fo"), base64.encode("foobar")', 'Zg== | Zm8= | Zm9vYmFy'],
    [
      'base64.encode("\\255\\254\\253\\0"), base64.encode("\\255\\254\\253\\0", { url = true })',
      '//79AA== | __79AA',
    ],
    ['base64.decode("//79AA==") == "\\255\\254\\253\\0"', 'true'],
    ['base64.decode("__79AA", { url = true }) == "\\255\\254\\253\\0"', 'true'],
    ['base64.decode("Zm9v\\r\\nYmFy"), base64.decode("Zm8")', 'foobar | fo'],
    ['base64.decode("Zm9v!")', refusal('no Base64 at byte 5')],
    ['base64.decode("__79", {})', refusal('no Base64 at byte 1')],
    ['base64.decode("Zm9vY")', refusal('no Base64: it has too few or too many digits at its end')],
    ['base64.decode("Zg=")', refusal('no Base64: it has too few or too many digits at its end')],
    ['base64.encode(nil)', refusal('the data must be a string, not nil')],
    ['base64.decode({})', refusal('the text must be a string, not table')],
  ]))

test('§16 hex writes small digits, reads both, and refuses what is none', () =>
  assertValues([
    ['hex.encode("\\0\\255A")', '00ff41'],
    ['hex.decode("00fF41") == "\\0\\255A", hex.decode("")', 'true | '],
    ['hex.decode("abc")', refusal('no hexadecimal text: it has an odd number of digits')],
    ['hex.decode("00zz")', refusal('no hexadecimal digits at byte 3')],
    ['hex.encode(12.0)', '3132'],
  ]))

test('§16 url encodes, decodes and leaves the plus as it is', () =>
  assertValues([
    ['url.encode("a b+c/ä~")', 'a%20b%2Bc%2F%C3%A4~'],
    ['url.decode("a%20b+c%2f"), url.decode("%ff") == "\\255"', 'a b+c/ | true'],
    ['url.decode("50%")', refusal('at byte 3 is a % without two hexadecimal digits behind it')],
    ['url.decode("%zz")', refusal('at byte 1 is a % without two hexadecimal digits behind it')],
  ]))

test('§16 url takes addresses apart, and builds the same ones', async () => {
  await assertValues([
    [
      'url.parse("HTTP://me:p%40ss@[::1]:8080/a%20b?x=1&y=%2F#top")',
      '{"scheme":"http","user":"me","password":"p@ss","host":"::1","port":8080,"path":"/a%20b","query":"x=1&y=%2F","fragment":"top"}',
    ],
    ['url.parse("/only/path")', '{"path":"/only/path"}'],
    ['url.parse("//%F0%9F%98%80😀é%2@h")', '{"user":"😀😀é%2","host":"h","path":""}'],
    ['url.parse("mailto:a@b")', '{"scheme":"mailto","path":"a@b"}'],
    ['url.parse("http://a b/")', refusal('no address: it has a blank or control character at 9')],
    ['url.parse("http://h:99999/")', refusal('no address: there is no port 99999')],
    ['url.parse("http://h:x/")', refusal('no address: http://h:x/')],
    [
      '(url.build({ scheme = "http", host = "::1", port = 80, user = "a:b", password = "p@/", path = "x y", query = "q=ä", fragment = "" }):gsub("@", " at "))',
      'http://a%3Ab:p%40%2F at [::1]:80/x%20y?q=%C3%A4#',
    ],
    ['url.build({ port = 80 })', refusal('user, password and port need a host')],
    ['url.build({ host = "a/b" })', refusal("'a/b' is no host")],
    ['url.build({ host = "a", port = 1.5 })', refusal('port must be a whole number from 0 to 65535')],
    ['url.build("x")', refusal('the parts must be a table, not string')],
  ])
  const addresses = [
    'http://h',
    'https://h:8123/',
    'ws://u@h/p',
    'http://u:p@h:1/p?q#f',
    '//h/p',
    '?q=1',
    '#f',
    'a/b:c',
    'http://[fe80::1]/x',
    'http://h/?',
    'tcp://1.2.3.4:502',
  ]
  // A login would be hidden in the log.
  assert.deepEqual(
    await valuesOf(addresses.map((address) => `url.build(url.parse("${address}")) == "${address}"`)),
    addresses.map(() => 'true'),
  )
})

test('§16 crypto gives the digests and checksums of their published test values', async () => {
  const text = 'The quick brown fox jumps over the lazy dog'
  const digest = (name: string): string => createHash(name).update(text).digest('hex')
  await assertValues([
    ...['md5', 'sha1', 'sha256', 'sha512'].map(
      (name) => [`hex.encode(crypto.${name}("${text}"))`, digest(name)] as const,
    ),
    // RFC 4231, test case 2.
    [
      'hex.encode(crypto.hmac("sha256", "Jefe", "what do ya want for nothing?"))',
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    ],
    ['hex.encode(crypto.hmac("MD5", "key", ""))', createHmac('md5', 'key').digest('hex')],
    ['crypto.hmac("sha3", "k", "")', refusal('the algorithm must be one of md5, sha1, sha256, sha512')],
    ['crypto.crc16("123456789") == 0x4b37, crypto.crc32("123456789") == 0xcbf43926', 'true | true'],
    ['crypto.crc16(""), crypto.crc32("")', '65535 | 0'],
    [
      '#crypto.randomBytes(7), crypto.randomBytes(0), crypto.randomBytes(9) ~= crypto.randomBytes(9)',
      '7 |  | true',
    ],
    ['crypto.randomBytes(-1)', refusal('how many bytes must be a whole number from 0 to 1048576')],
    ['crypto.uuid():match("^%x+%-%x+%-4%x+%-%x+%-%x+$") ~= nil, #crypto.uuid()', 'true | 36'],
    [
      'crypto.equal("a", "a"), crypto.equal("a", "b"), crypto.equal("a", "ab"), crypto.equal("", "")',
      'true | false | false | true',
    ],
    ['crypto.equal("a")', refusal('the second value must be a string, not nil')],
  ])
})

test('§16 crypto encrypts as others do, and decrypts it again', async () => {
  const texts = ['', 'sixteen bytes ok', 'some text']
  for (const algorithm of [
    'aes-128-cbc',
    'aes-256-cbc',
    'aes-128-ctr',
    'aes-256-ctr',
    'aes-128-gcm',
    'aes-256-gcm',
  ] as const) {
    const isGcm = algorithm.endsWith('gcm')
    const key = randomBytes(algorithm.includes('128') ? 16 : 32)
    const initial = randomBytes(isGcm ? 12 : 16)
    const arguments_ = `"${algorithm}", hex.decode("${key.toString('hex')}"), hex.decode("${initial.toString('hex')}")`
    const encrypted = await valuesOf(
      texts.map((text) => `hex.encode((crypto.encrypt(${arguments_}, "${text}")))`),
    )
    assert.deepEqual(
      encrypted,
      texts.map((text) => {
        const cipher = createCipheriv(algorithm, key, initial)
        return Buffer.concat([cipher.update(text), cipher.final()]).toString('hex')
      }),
      algorithm,
    )
    const option = isGcm ? ', { tag = select(2, crypto.encrypt(ARGUMENTS)) }' : ''
    const again = texts.map(
      (text) =>
        `crypto.decrypt(${arguments_}, (crypto.encrypt(${arguments_}, "${text}"))${option.replace('ARGUMENTS', () => `${arguments_}, "${text}"`)})`,
    )
    assert.deepEqual(await valuesOf(again), texts, algorithm)
  }
})

test('§16 crypto refuses what was not encrypted so, and keys of another length', () =>
  assertValues([
    [
      '(function() local k, i = ("k"):rep(16), ("i"):rep(12) local c, t = crypto.encrypt("aes-128-gcm", k, i, "x", { aad = "a" }) return #t, crypto.decrypt("aes-128-gcm", k, i, c, { aad = "a", tag = t }), crypto.decrypt("aes-128-gcm", k, i, c, { aad = "b", tag = t }) end)()',
      '16 | x | nil | the key, the initial value or the data are not those it was encrypted with',
    ],
    [
      'crypto.decrypt("aes-128-gcm", ("k"):rep(16), ("i"):rep(12), "x")',
      refusal('the option tag must be a string, not nil'),
    ],
    [
      'crypto.decrypt("aes-128-gcm", ("k"):rep(16), ("i"):rep(12), "x", { tag = "abc" })',
      refusal('the option tag must have 16 bytes'),
    ],
    [
      'crypto.decrypt("aes-128-cbc", ("k"):rep(16), ("i"):rep(16), "x")',
      refusal('the key, the initial value or the data are not those it was encrypted with'),
    ],
    [
      'crypto.encrypt("aes-128-cbc", "k", ("i"):rep(16), "x")',
      refusal('the key of aes-128-cbc must have 16 bytes, not 1'),
    ],
    [
      'crypto.encrypt("aes-256-gcm", ("k"):rep(32), "", "x")',
      refusal('the initial value of aes-256-gcm must have 12 bytes, not 0'),
    ],
    [
      'crypto.encrypt("des", "k", "i", "x")',
      refusal('the algorithm must be aes-128 or aes-256, with -cbc, -ctr or -gcm'),
    ],
  ]))

test('§16 xml gives elements with attributes, children and their own text', () =>
  assertValues([
    ['xml.decode("<a/>")', '{"name":"a","attributes":{},"children":{},"text":""}'],
    [
      `xml.decode('<?xml version="1.0"?><!DOCTYPE a><!-- c --><s:a x="1 &amp; 2" s:y=""> t&#228;<b>1</b><![CDATA[<u>]]></s:a>')`,
      '{"name":"s:a","attributes":{"x":"1 & 2","s:y":""},"children":[{"name":"b","attributes":{},"children":{},"text":"1"}],"text":" tä<u>"}',
    ],
    [`xml.decode('<?xml version="1.0" encoding="ISO-8859-1"?><a>\\228</a>').text`, 'ä'],
    [
      `xml.decode('<?xml version="1.0" encoding="klingon"?><a/>')`,
      refusal('the encoding klingon is not known'),
    ],
    ['xml.decode("<a>\\n<b></a>")', refusal('line 2: Unexpected close tag')],
    ['xml.decode("<a>")', refusal('line 1: Unclosed root tag')],
    ['xml.decode("")', refusal('line 1: there is no element')],
    ['xml.decode("text")', refusal('line 1: Non-whitespace before first tag.')],
    ['xml.decode("<a/><b/>")', refusal('line 1: there is more than one root element')],
    ['xml.decode("<a>&unknown;</a>")', refusal('line 1: Invalid character entity')],
    ['xml.decode("<a x=1/>")', refusal('line 1: Unquoted attribute value')],
    [
      `xml.decode('<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>')`,
      refusal('line 1: a document type that defines entities is not read'),
    ],
    ['xml.decode(("<a>"):rep(100) .. ("</a>"):rep(100)).name', 'a'],
    ['xml.decode(("<a>"):rep(101) .. ("</a>"):rep(101))', refusal('line 1: more than 100 levels deep')],
    ['xml.decode(12)', refusal('line 1: Non-whitespace before first tag.')],
  ]))

test('§16 csv reads lines as RFC 4180 has them', () =>
  assertValues([
    ['csv.decode("a,b\\r\\n1,\\r\\n")', '[["a","b"],["1",""]]'],
    ['csv.decode("a\\n\\nb")', '[["a"],[""],["b"]]'],
    [`csv.decode('"a ""b"", c","d\\ne"\\n')`, '[["a \\"b\\", c","d\\ne"]]'],
    ['csv.decode("a;b", { separator = ";" })', '[["a","b"]]'],
    [
      'csv.decode("\\239\\187\\191id,name\\n1,x\\n2\\n", { header = true })',
      '[{"id":"1","name":"x"},{"id":"2"}]',
    ],
    ['csv.decode("")', '{}'],
    ['csv.decode(",")', '[["",""]]'],
    ['csv.decode("a\\n1,2", { header = true })', refusal('line 2 has 2 fields, and the first line 1')],
    [`csv.decode('a\\n"b')`, refusal('line 2: a closing quotation mark is missing')],
    [`csv.decode('"a"b')`, refusal('line 1: there is something behind the closing quotation mark')],
    [`csv.decode('a"b')`, refusal('line 1: a field with a quotation mark in it must stand in some')],
    [
      'csv.decode("a", { separator = "::" })',
      refusal(
        'the option separator must be one character of ASCII, and neither a quotation mark nor a line end',
      ),
    ],
  ]))

test('§16 csv writes what it reads', () =>
  assertValues([
    [
      'csv.encode({ { "a", 1.0, true }, { "x,y", "\\"q\\"", "l\\nm" }, { "" } })',
      'a,1,true\r\n"x,y","""q""","l\nm"\r\n""\r\n',
    ],
    [
      'csv.encode({ { a = 1, b = "ü" }, { c = 2 } }, { header = true, separator = "|" })',
      'a|b|c\r\n1|ü|\r\n||2\r\n',
    ],
    ['csv.encode({ { a = 1, b = 2 } }, { header = { "b", "a" } })', 'b,a\r\n2,1\r\n'],
    ['csv.encode({}), csv.encode({ {} })', ' | \r\n'],
    ['csv.decode(csv.encode({ { "]", "^" } }, { separator = "^" }), { separator = "^" })', '[["]","^"]]'],
    ['csv.encode({ "x" })', refusal('row 1 must be a table, not string')],
    ['csv.encode({ { {} } })', refusal('row 1 has a table, which is no text')],
  ]))

test('§16 jsonpath finds values, counts from 0, and tells what it cannot read', () => {
  const value = '{ a = { b = { 10, { ["c d"] = false } } }, ["x.y"] = 1 }'
  return assertValues([
    [`jsonpath.get(${value}, "$.a.b[0]"), jsonpath.get(${value}, "a.b[0]")`, '10 | 10'],
    [`jsonpath.get(${value}, "a.b[1]['c d']"), jsonpath.get(${value}, '["x.y"]')`, 'false | 1'],
    [
      `jsonpath.get(${value}, "a.z.b"), jsonpath.get(${value}, "a.b[9]"), jsonpath.get(5, "a")`,
      'nil | nil | nil',
    ],
    ['jsonpath.get({ 1, 2 }, "$"), jsonpath.get(7, "")', '[1,2] | 7'],
    ['jsonpath.get({}, "a..b")', refusal("cannot read the path 'a..b' from '..b' on")],
    ['jsonpath.get({}, "a[x]")', refusal("cannot read the path 'a[x]' from '[x]' on")],
    ['jsonpath.get({}, "a[0]b")', refusal("cannot read the path 'a[0]b' from 'b' on")],
    ...['a.', 'a]', '.a', 'a[', '$a'].map(
      (path) => [`select("#", jsonpath.get({}, "${path}"))`, '2'] as const,
    ),
    ['jsonpath.get({})', refusal("bad argument #2 to 'jsonpath.get' (string expected, got nil)")],
  ])
})

test('§16 template fills in values by path and filters', () => {
  const values = '{ a = { b = 21.456 }, name = "Ä", list = { 1, 2 }, at = 0, on = true }'
  return assertValues([
    [`template.render("{{ name }}: {{a.b | round(1)}} °C{{ missing }}", ${values})`, 'Ä: 21.5 °C'],
    [
      `template.render("{{ a.b | round }} {{ name | lower }} {{ name | lower | upper }} {{ on }} {{ list[1] }}", ${values})`,
      '21 ä Ä true 2',
    ],
    [
      `template.render("{{ nothing | default('a | b') }} {{ name | default(x) }} {{ a.b | json }} {{ list }}", ${values})`,
      'a | b Ä 21.456 [1,2]',
    ],
    [
      `template.render("{{ at | date('!%Y-%m-%d %H:%M') }} {{ nothing | date }}", ${values})`,
      '1970-01-01 00:00 ',
    ],
    ['template.render("{{ . | round(2) }}", 1)', refusal("cannot read the path '.' from '.' on")],
    ['template.render("{{ $ | round(2) }} {{ $ | round }}", 1.005)', '1.01 1'],
    ['template.render("{{ $ | round }}", -0.4), template.render("{{ $ | round }}", "on")', '0 | on'],
    ['template.render("{{ a", {})', refusal('the {{ at 1 is not closed')],
    [
      'template.render("{{ a | no }}", {})',
      refusal("no filter 'no': there are round, upper, lower, default, json, date"),
    ],
    ['template.render("{{ a | round(x) }}", { a = 1 })', refusal('round takes a whole number from 0 to 15')],
    ['template.render("no placeholder"), template.render("{{ a }}")', 'no placeholder | '],
  ])
})

test('§16 a plugin can put functions of its own into a table of the host, and another one does not see them', async () => {
  assert.deepEqual(
    await linesOf(
      pluginSource('base64.more = function() return "mine" end print(base64.more(), base64.encode("a"))'),
    ),
    ['mine\tYQ=='],
  )
  assert.deepEqual(await linesOf(pluginSource('print(base64.more)')), ['nil'])
})

test('§16 what would be larger than a string may be is refused', () =>
  withPlugin(
    pluginSource(
      'local big = ("x"):rep(600000) print(hex.encode(big)) print(base64.encode(big)) print(url.encode(("ä"):rep(200000)))',
    ),
    ({ recorder }) => {
      for (const line of recorder.logs()) assert.match(line, /nil\tthe value is too large/)
      assert.equal(recorder.logs().length, 3)
    },
    { stringBytes: 700_000 },
  ))

test('§16 a text as long as a string may be is encoded in the memory that a plugin has', () =>
  withPlugin(
    pluginSource('local big = ("x"):rep(16e6) for round = 1, 3 do print(#url.encode(big)) end'),
    ({ recorder }) => assert.deepEqual(recorder.logs(), ['info 16000000', 'info 16000000', 'info 16000000']),
    { memory: 64, callbackTime: 60_000, loadTime: 60_000 },
  ))

test('§16 more values than a plugin has room for are refused while they are read', async () => {
  assert.deepEqual(
    await linesOf(
      pluginSource(`
        print(xml.decode("<a>" .. ("<b/>"):rep(32000) .. "</a>"))
        print(csv.decode((","):rep(250001)))
        print(csv.decode(("\\n"):rep(250001)))
      `),
    ),
    ['nil\tmore than 250000 values', 'nil\tmore than 250000 values', 'nil\tmore than 250000 values'],
  )
})

for (const [what, call] of [
  ['a digest', 'crypto.sha512(big)'],
  ['a cipher', 'crypto.encrypt("aes-256-ctr", ("k"):rep(32), ("i"):rep(16), big)'],
  ['XML', 'xml.decode("<a>" .. big:sub(1, 4e6) .. "</a>")'],
  ['CSV', 'csv.decode(("a,b\\n"):rep(5e4))'],
  ['a template', 'template.render(("{{ a | json }}"):rep(2e4), { a = 1 })'],
] as const)
  test(`§16 what takes long in ${what} is stopped when the time of the callback is over, also within pcall`, () =>
    withPlugin(
      pluginSource(`plugin:setTimeout(1, function()
        local big = ("x"):rep(8e6)
        while true do pcall(function() return ${call} end) end
      end)`),
      async ({ recorder }) => {
        await recorder.logged('stopped, because it ran for longer than 0.3 s')
      },
      { callbackTime: 300 },
    ))
