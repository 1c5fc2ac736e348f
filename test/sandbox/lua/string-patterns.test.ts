import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { evaluate } from './lua-state.ts'

const cases: [title: string, call: string, expected: unknown[]][] = [
  ['find gives the positions', '("hello"):find("l+")', [3, 4]],
  ['find gives the captures behind them', '("k = v"):find("(%w+) = (%w+)")', [1, 5, 'k', 'v']],
  ['find may be plain', '("a.b"):find(".", 1, true)', [2, 2]],
  ['find starts where it is told, also from the end', '("abcabc"):find("b", -3)', [5, 5]],
  ['find behind the end is nil', '("abc"):find("", 10)', [null]],
  ['find of nothing at the end is there', '("abc"):find("", 4)', [4, 3]],
  ['match gives the whole match without captures', '("2025-10-09"):match("%d+-%d+")', ['2025-10']],
  ['match gives the captures', '("2025-10-09"):match("(%d+)-(%d+)-(%d+)")', ['2025', '10', '09']],
  ['match of a position capture is a number', '("abc"):match("()b()")', [2, 3]],
  ['match is nil when there is none', '("abc"):match("%d")', [null]],
  ['a caret anchors', '("abc"):match("^b")', [null]],
  ['a dollar anchors at the end only', '("a$b$"):match("a$b%$$")', ['a$b$']],
  ['minus is lazy', '("<a><b>"):match("<(.-)>")', ['a']],
  ['star is greedy', '("<a><b>"):match("<(.*)>")', ['a><b']],
  ['question mark is optional', '("color colour"):gsub("colou?r", "x")', ['x x', 2]],
  ['sets have ranges and classes', '("a-b_c d"):match("[%w_-]+")', ['a-b_c']],
  ['sets may be negated', '("key: value"):match("^([^:]+):%s*(.+)$")', ['key', 'value']],
  ['a set may begin with a bracket', '("a]b"):match("[]]")', [']']],
  ['%b is balanced', '("f(a(b)c)d"):match("%b()")', ['(a(b)c)']],
  ['%f is a frontier', '("THE (quick) fox"):find("%f[%a]%a+%f[%A]", 5)', [6, 10]],
  ['a capture can come again', `('say "hi" \\'x\\''):match("([\\"'])(.-)%1")`, ['"', 'hi']],
  ['upper case letters are the complement', '("ab12"):match("%A+")', ['12']],
  ['bytes above 127 are no letters', '("aäb"):match("%a+", 2)', ['b']],
  ['gsub replaces with captures', '("a=1"):gsub("(%w)=(%w)", "%2=%1 %0 %%")', ['1=a a=1 %', 1]],
  ['gsub stops after so many', '("aaa"):gsub("a", "b", 2)', ['bba', 2]],
  ['gsub matches the empty string between characters', '("abc"):gsub("", "-")', ['-a-b-c-', 4]],
  [
    'gsub does not match empty right behind a match',
    '("hello world"):gsub("o*", "x")',
    ['xhxexlxlx xwxrxlxdx', 10],
  ],
  ['gsub looks up a table', '("$a $b"):gsub("%$(%w)", {a = 1.0, b = false})', ['1 $b', 2]],
  ['gsub calls a function', '("1 2"):gsub("%d", function(d) return d * 2 end)', ['2 4', 2]],
  ['gsub with an anchor replaces once', '("aaa"):gsub("^a", "b")', ['baa', 1]],
  ['gsub with a position gives its digits', '("ab"):gsub("()b", "%1")', ['a2', 1]],
  ['a number as subject is text', '(12.0 .. ""):rep(2)', ['1212']],
]

describe('Lua patterns', () => {
  for (const [title, call, expected] of cases) {
    test(title, () => assert.deepEqual(evaluate(`return ${call}`), expected))
  }

  test('gmatch goes through all matches, in a coroutine too', () => {
    const [text, pairs] = evaluate(`
      local found = {}
      for word in ("one two  three"):gmatch("%a+") do found[#found + 1] = word end
      local pairs = {}
      for k, v in coroutine.wrap(function()
        for k, v in ("a=1, b=2"):gmatch("(%w)=(%w)") do coroutine.yield(k, v) end
      end) do pairs[#pairs + 1] = k .. v end
      return table.concat(found, "|"), table.concat(pairs, "|")`)
    assert.deepEqual([text, pairs], ['one|two|three', 'a1|b2'])
  })

  test('gmatch ends although a pattern matches the empty string', () => {
    assert.deepEqual(evaluate('local n = 0 for _ in ("abc"):gmatch("%d*") do n = n + 1 end return n'), [4])
  })

  test('gmatch takes a caret for a plain character', () => {
    assert.deepEqual(evaluate('local n = 0 for _ in ("^a^a"):gmatch("^a") do n = n + 1 end return n'), [2])
  })

  const refusals: [pattern: string, message: RegExp][] = [
    ['[a', /malformed pattern \(missing '\]'\)/],
    ['%', /malformed pattern \(ends with '%'\)/],
    ['(a', /unfinished capture/],
    ['.)', /invalid pattern capture/],
    ['%1', /invalid capture index %1/],
    ['%b(', /missing arguments to '%b'/],
    ['%fa', /missing '\[' after '%f'/],
    ['('.repeat(40), /too many captures/],
  ]
  for (const [pattern, message] of refusals) {
    test(`the pattern ${pattern.slice(0, 5)} is refused with a position`, () => {
      assert.throws(() => evaluate(`return ("aab"):find("${pattern}")`), message)
      assert.throws(() => evaluate(`return ("aab"):find("${pattern}")`), /init\.lua:1: /)
    })
  }

  test('a wrong replacement is an error', () => {
    assert.throws(() => evaluate('return ("a"):gsub("a", "%2")'), /invalid capture index %2 in replacement/)
    assert.throws(
      () => evaluate('return ("a"):gsub("a", function() return {} end)'),
      /invalid replacement value/,
    )
    assert.throws(() => evaluate('return ("a"):gsub("a", nil)'), /string\/function\/table expected/)
  })
})

test('a plain text is found wherever it is, however long both are', () => {
  for (const length of [1, 900, 16_000, 16_001]) {
    for (const before of [0, 249, 250, 251, 4_444, 30_000]) {
      const source = `local text = ("a"):rep(${length - 1}) .. "b" local s = ("a"):rep(${before}) .. text
        local long = s .. ("a"):rep(20000)
        local first, last = long:find(text, 1, true)
        return first, last, long:find(text, first + 1, true), (long:find(text, first)), (s:find(text, 1, true))`
      const [first, last] = [before + 1, before + length]
      assert.deepEqual(evaluate(source), [first, last, null, first, first], `${length} behind ${before}`)
    }
  }
})
