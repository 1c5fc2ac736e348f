import fc from 'fast-check'
import { conversion, literal, mistake, pattern, word } from './lua-words.ts'

/**
 * Programs in Lua, made at random, that say the same in every Lua 5.3: whole numbers and short fractions, no length of a
 * list with holes, no order of what has none. What they find out is lines of the text that they return.
 */

const prelude = `local lines = {}
local function show(value)
  if type(value) == "number" then
    if value ~= value or value == math.huge or value == -math.huge then return "no number" end
    return string.format(value % 1 == 0 and math.abs(value) < 2^53 and "%d" or "%.12g", value)
  elseif type(value) == "string" then return string.format("%q", value)
  elseif type(value) == "table" then
    local fields = {}
    for key, field in next, value do fields[#fields + 1] = tostring(key) .. "=" .. (type(field) == "table" and "table" or show(field)) end
    table.sort(fields)
    return "{" .. table.concat(fields, ",") .. "}"
  end
  return type(value) == "function" and "function" or tostring(value)
end
local function out(...)
  local shown = {}
  for index = 1, select("#", ...) do shown[index] = show((select(index, ...))) end
  lines[#lines + 1] = table.concat(shown, " ")
end
local n1, n2, n3, s1, s2, s3 = 1, 7, -2.5, "", "abc", "a1 b.c"
local t1, t2 = { 3, 1, 2 }, { a = 1, b = "x" }
local f1 = function(...) return select("#", ...), ... end
local f2 = function(a, b) if a == b then return a end return f1(b, a) end
local object = setmetatable({ own = 1 }, {
  __index = function(_, key) return key .. "!" end, __newindex = function(_, key, value) out("write", key, value) end,
  __call = function(_, ...) return f1(...) end, __len = function() return 3 end, __unm = function() return "minus" end,
  __add = function(a, b) return type(a) .. "+" .. type(b) end, __concat = function(a, b) return type(a) .. type(b) end,
  __lt = function(a, b) return type(a) == "table" end, __le = function() return false end, __tostring = function() return "object" end,
})
`

/** Deep ones say no more, and nobody could read them. */
const shallow = { maxDepth: 4, depthSize: 'xsmall', withCrossShrink: true } as const

interface Parts {
  number: string
  text: string
  condition: string
  value: string
  statement: string
  yielding: string
}

const { statement } = fc.letrec<Parts>((tie: fc.LetrecTypedTie<Parts>) => {
  const [number, text, condition, value] = [tie('number'), tie('text'), tie('condition'), tie('value')]
  const values = fc.array(value, { minLength: 1, maxLength: 3 }).map((list) => list.join(', '))
  const block = fc.array(tie('statement'), { maxLength: 3 }).map((list) => list.join('\n'))
  const sequence = fc.oneof(
    fc.array(number, { maxLength: 9 }).map((list) => `{ ${list.join(', ')} }`),
    fc.array(text, { maxLength: 9 }).map((list) => `{ ${list.join(', ')} }`),
  )
  const join = (separator: string, ...parts: fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
    fc.tuple(...parts).map((list) => list.join(separator))
  const around = (before: string, inner: fc.Arbitrary<string>, after: string): fc.Arbitrary<string> =>
    inner.map((source) => before + source + after)

  return {
    number: fc.oneof(
      shallow,
      fc.oneof(literal, fc.constantFrom('n1', 'n2', 'n3')),
      around('(', join(' ', number, fc.constantFrom('+', '-'), number), ')'),
      around(
        '(',
        join(' ', number, fc.constantFrom('* 2', '* -3', '// 3', '// -2', '% 7', '% -3', '% 0.5', '/ 4')),
        ')',
      ),
      around('#', text, ''),
      around('math.floor(', number, ')'),
      around('math.max(', join(', ', number, number), ')'),
      around('(math.ceil(', number, ') & 255 ~ 3)'),
      around('select("#", f1(', values, '))'),
      around('(tonumber(', text, ':sub(1, 3)) or 5)'),
      around('(', join('', condition, around(' and ', number, ''), around(' or ', number, '')), ')'),
    ),
    text: fc.oneof(
      shallow,
      fc.oneof(around('(', word, ')'), fc.constantFrom('s1', 's2', 's3')),
      around('(', join(' .. ', text, text), ')'),
      around('show(', value, ')'),
      join(
        '',
        text,
        fc.constantFrom(
          ':sub(2)',
          ':sub(-3, -2)',
          ':sub(2, 4)',
          ':upper()',
          ':reverse()',
          ':rep(3)',
          ':rep(2, "-")',
        ),
      ),
      join(
        '',
        around('(', text, ''),
        around(':gsub(', pattern, ', '),
        fc.constantFrom('"<%0>"', '""', '"%%"', 'string.upper', '{ a = "A", b = false }'),
        fc.constantFrom('', ', 2').map((limit) => `${limit}))`),
      ),
      fc
        .array(conversion, { minLength: 1, maxLength: 3 })
        .map(
          (list) =>
            `string.format("${list.map(({ format }) => format).join('|')}", ${list.map((one) => one.value).join(', ')})`,
        ),
      around(
        'table.concat({ ',
        fc.array(text, { maxLength: 5 }).map((list) => list.join(', ')),
        ' }, ",")',
      ),
    ),
    condition: fc.oneof(
      shallow,
      fc.constantFrom('true', 'false', 'nil', 'object < 1', 'object <= object', '1 < object'),
      join(' ', number, fc.constantFrom('<', '<=', '>', '>=', '==', '~='), number),
      join(' ', text, fc.constantFrom('<', '<=', '==', '~='), text),
      around('not (', condition, ')'),
      around('(', join(' ', condition, fc.constantFrom('and', 'or'), condition), ')'),
    ),
    value: fc.oneof(
      shallow,
      fc.constantFrom(
        'true',
        'false',
        'nil',
        't1',
        't2',
        'f1',
        'object.some',
        '#object',
        '-object',
        'object + 1',
        '1 + object',
        'object .. s1',
      ),
      number,
      text,
      sequence,
      around('object(', values, ')'),
    ),
    statement: fc.oneof(
      shallow,
      around('out(', values, ')'),
      join(' = ', fc.constantFrom('n1', 'n2', 'n3'), around('(', number, ') % 1000')),
      join(' = ', fc.constantFrom('s1', 's2', 's3'), around('(', text, '):sub(1, 40)')),
      join(
        ', ',
        fc.constant('n1'),
        around('s1, t2.a = (', number, ') % 100'),
        around('(', text, '):sub(1, 9)'),
        value,
      ),
      around('t2[', join('] = ', fc.oneof(text, fc.constantFrom('"a"', '"c"')), value), ''),
      around('object.field = ', value, ''),
      around('out(pcall(function(...) ', mistake, ' end, 1, 2))'),
      around('out(xpcall(function() ', mistake, ' end, function(e) return "handled " .. show(e) end))'),
      around('out(pcall(f2, ', values, '))'),
      join('', around('if ', condition, ' then\n'), block, around('\nelse\n', block, '\nend')),
      join(
        '',
        fc.constantFrom(
          'for i = 1, 3 do',
          'for i = 3, 1, -2 do',
          'for i = 0, 1, 0.25 do',
          'for i, v in ipairs(t1) do',
          'for i in ("a-b c"):gmatch("%a") do',
        ),
        around(' if ', condition, ' then goto continue end\ndo\n'),
        block,
        fc.constant(' end ::continue:: end'),
      ),
      join(
        '',
        around('do local i = 0 repeat i = i + 1\n', block, ''),
        around(' until i > 2 or ', condition, ' end'),
      ),
      around('do local n1, s1 = n1, s1\n', block, '\nend'),
      join(
        '',
        around('do local l = ', sequence, ''),
        fc
          .constantFrom(
            '',
            ', function(a, b) return a > b end',
            ', function(a, b) return show(a) < show(b) end',
          )
          .map((less) => ` table.sort(l${less}) out(l) end`),
      ),
      join(
        '',
        around('do local l = ', sequence, ' '),
        fc
          .array(
            fc.constantFrom(
              'table.insert(l, 4)',
              'table.insert(l, 1, 5)',
              'out(table.remove(l))',
              'out(table.remove(l, 1))',
              'table.move(l, 1, #l, 2)',
              'out(table.unpack(l, 1, 4))',
              'out(#l)',
              'out(pcall(table.remove, l, 12))',
              'out(table.pack(table.unpack(l)).n)',
            ),
            { maxLength: 5 },
          )
          .map((list) => `${list.join(' ')} out(l) end`),
      ),
      join(
        ', ',
        around('out(pcall(', fc.constantFrom('string.find', 'string.match'), ''),
        text,
        around('', pattern, '))'),
      ),
      join(
        ', ',
        around('out(pcall(string.gsub, ', text, ''),
        pattern,
        fc
          .constantFrom(
            '"%0%0"',
            'function(...) return ... end',
            'function(a) n1 = n1 + 1 return a:upper() end',
            'function() error("within", 0) end',
            'function() end',
          )
          .map((replacement) => `${replacement}))`),
      ),
      join('', around('for a, b in (', text, ')'), around(':gmatch(', pattern, ') do out(a, b) end')),
      join(
        '',
        around(
          'do local c = coroutine.create(function(n1)\n',
          fc.array(tie('yielding'), { minLength: 1, maxLength: 4 }).map((list) => list.join('\n')),
          '',
        ),
        around(
          '\nreturn ',
          values,
          ' end)\nfor i = 1, 9 do out(coroutine.resume(c, i, "given")) end out(coroutine.status(c)) end',
        ),
      ),
    ),
    yielding: fc.oneof(
      shallow,
      around('out("back", coroutine.yield(', values, '))'),
      around('out(pcall(function() coroutine.yield("in pcall") ', mistake, ' end))'),
      around(
        'out(xpcall(function(a) coroutine.yield(a) ',
        mistake,
        ' end, function(e) return "handled " .. show(e) end, 4))',
      ),
      around(
        'for v in coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i, ',
        value,
        ') end end) do coroutine.yield(v) end',
      ),
      fc.constant(
        'out((setmetatable({}, { __index = function(_, k) return (coroutine.yield(k)) end, __add = function() coroutine.yield("add") return 5 end, __lt = function() coroutine.yield("less") return true end })).x)',
      ),
      fc.constant(
        'do local o = setmetatable({}, { __concat = function() return (coroutine.yield("join")) end, __call = function(_, v) return coroutine.yield(v) end, __eq = function() coroutine.yield("same") end }) out(o == setmetatable({}, getmetatable(o)), o(1, 2)) out(show(o .. "z")) end',
      ),
      fc.constant(
        'for i, v in (function(l, i) i = i + 1 coroutine.yield("next") if l[i] then return i, l[i] end end), { 7, 8 }, 0 do out(i, v) end',
      ),
      fc.constant('out(coroutine.isyieldable(), select(2, coroutine.running()))'),
      tie('statement'),
    ),
  }
})

export const luaProgram: fc.Arbitrary<string> = fc
  .array(statement, { minLength: 4, maxLength: 14 })
  .map((list) => `${prelude}${list.join('\n')}\nreturn table.concat(lines, "\\n")`)
