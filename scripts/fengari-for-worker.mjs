// What the program of the workers takes of fengari: the text of its modules, without what no plugin needs and what is slow
// in V8. The tests of `src/sandbox/worker` run with fengari as it is, and those of whole plugins with this.
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'

const folder = 'node_modules/fengari/src'
/** They ask for some of its functions by name. */
const users = 'src/sandbox/worker'

/** Modules, and what is another text in them. */
const changes = [
  // It brings all libraries of Lua.
  [
    /^lualib\.js$/,
    /[^]*/,
    librariesOf({ base: 'lbaselib', coroutine: 'lcorolib', math: 'lmathlib', utf8: 'lutf8lib' }),
  ],
  // They read and write chunks that are compiled, where all are texts; and `lua/engine/tables.ts` has all of tables.
  [/^(ldump|ltable|lundump)\.js$/, /[^]*/, ''],
  // The checks of its own bookkeeping are left out of Lua itself, too.
  [/^(lcode|ldebug|ldo|llex|lobject|lparser|lvm)\.js$/, /^( +)lua_assert\([^;]*\);/gm, '$1;'],
  // V8 deletes an element of an array by a call of its runtime, which was half of the time of each call of a function.
  [/^(lapi|ldebug|ldo|lparser|ltm|lvm)\.js$/, /delete (L|from)(\.stack\[[^\]]+\])/g, '$1$2 = undefined'],
  // A field that begins with NaN is a double for V8 for ever, with a box of its own, even if it only has small integers.
  [/^(defs|llex|lobject|lparser|lstate)\.js$/, /^( +(?:this\.)?\w+(?: =|:)) NaN\b/gm, '$1 0'],
  // Of its hooks only the one that counts instructions is there.
  [
    /^lvm\.js$/,
    /if \(L\.hookmask & \(LUA_MASKLINE \| LUA_MASKCOUNT\)\) \{\s+ldebug\.luaG_traceexec\(L\);/,
    'if (--L.hookcount === 0) {\n L.hookcount = 1;\n ldebug.luaG_traceexec(L);',
  ],
  // They count as one instruction, and take as long as thousands: the hook asks before the next one.
  [
    /^lvm\.js$/,
    'luaS_eqlngstr(t1.tsvalue(), t2.tsvalue())',
    `(${isLong('t1')} && L !== null && (L.hookcount = 1), luaS_eqlngstr(t1.value, t2.value))`,
  ],
  [
    /^lvm\.js$/,
    /l_strcmp\(l\.tsvalue\(\), r\.tsvalue\(\)\)/g,
    `(${isLong('l')} && (L.hookcount = 1), l_strcmp(l.value, r.value))`,
  ],
  [/^lvm\.js$/, /t = tm;/g, 't = tm; if (loop > 100) L.hookcount = 1;'],
  // No value counts as an integer (`lua/engine/numbers.ts`).
  [/^lvm\.js$/, /if \((op1?|init)\.ttisinteger\(\)[^}]*\} else /g, ''],
  [/^lvm\.js$/, /if \(L\.stack\[ra\]\.ttisinteger\(\)\)[^]*?\} else (?=\{ .. floating loop)/, ''],
  // A number becomes text by way of a format, each time that `tostring` is called.
  [
    /^lauxlib\.js$/,
    'lua_pushfstring(L, p_f, lua_tonumber(L, idx))',
    '{ lua_pushvalue(L, idx); lua_tolstring(L, -1); }',
  ],
  // What instructions are called, for those who write them down.
  [/^lopcodes\.js$/, /^const OpCodes = \[[^\]]*\];$/m, ''],
  // Where chunks are files: a browser would fetch them.
  [/^(lauxlib|luaconf)\.js$/, /^if \(typeof process[^]*?^\} else \{[^]*?^\}$/m, ''],
  // `lua/library` has its own, or plugins have none.
  [/^lbaselib\.js$/, entries('collectgarbage|dofile|load|loadfile|pcall|print|rawget|rawset|tonumber'), ''],
  [/^lbaselib\.js$/, /,\s+"xpcall": +luaB_xpcall/, ''],
  [/^lmathlib\.js$/, entries('random|randomseed|tointeger|type'), ''],
  [/^lcorolib\.js$/, entries('isyieldable|resume|running|wrap'), ''],
  [/^lcorolib\.js$/, /,\s+"yield": +luaB_yield/, ''],
]

/** Whether a string takes longer to compare than many instructions. */
function isLong(value) {
  return `${value}.value.realstring.length > 65536`
}

function librariesOf(files) {
  const lines = Object.entries(files).map(
    ([name, file]) => `exports.luaopen_${name} = require('./${file}.js').luaopen_${name}`,
  )
  return lines.join('\n')
}

function entries(names) {
  return new RegExp(`^ +"(${names})": +\\w+,$`, 'gm')
}

/** Texts by the names of the modules. Fails where there is nothing to change: another version has it elsewhere. */
export async function fengariForWorker() {
  const texts = new Map()
  for (const name of await readdir(folder)) texts.set(name, await readFile(join(folder, name), 'utf8'))
  for (const [modules, pattern, replacement] of changes) {
    for (const name of [...texts.keys()].filter((name) => modules.test(name))) {
      const before = texts.get(name)
      const after = before.replace(pattern, replacement)
      if (after === before) throw new Error(`${name} of fengari has nothing like ${pattern}`)
      texts.set(name, after)
    }
  }
  const asked = await Promise.all(
    (await readdir(users, { recursive: true }))
      .filter((path) => /\.c?ts$/.test(path))
      .map((path) => readFile(join(users, path), 'utf8')),
  )
  const used = modulesOf('lua.js', texts, modulesOf('lualib.js', texts))
  return dropUnused(new Map([...used].map((name) => [name, texts.get(name)])), asked)
}

/** The module and all that it needs. */
function modulesOf(name, texts, found = new Set()) {
  if (found.has(name)) return found
  found.add(name)
  for (const [, path] of texts.get(name).matchAll(/require\(["']\.\/([^"']+)["']\)/g))
    modulesOf(path, texts, found)
  return found
}

const definition = /^const (\w+) = function\*?\([^]*?^\};\n/gm
const wordsOf = (text) => text.match(/\w+/g) ?? []

/** Leaves out the functions that nobody asks for by name, those that only such functions ask for among them. */
function dropUnused(texts, others) {
  for (const [name, text] of texts) texts.set(name, withoutUnusedImports(withoutComments(text)))
  const counts = new Map()
  const count = (text, by) => {
    for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + by)
  }
  for (const text of [...texts.values(), ...others]) count(text, 1)
  let isDone = false
  while (!isDone) {
    isDone = true
    for (const [name, text] of texts) {
      for (const [whole, word] of text.matchAll(definition)) {
        const exported = [...texts].flatMap(([module, other]) =>
          [...other.matchAll(exportOf(word))].map(([line]) => ({ module, line })),
        )
        const own = [whole, ...exported.map(({ line }) => line)]
        const mentions = own.flatMap(wordsOf).filter((other) => other === word).length
        if (counts.get(word) !== mentions) continue
        for (const piece of own) count(piece, -1)
        texts.set(name, texts.get(name).replace(whole, ''))
        for (const { module, line } of exported) texts.set(module, texts.get(module).replace(line, ''))
        isDone = false
      }
    }
    for (const [name, text] of texts) {
      const without = withoutUnusedImports(text)
      count(text, -1)
      count(without, 1)
      texts.set(name, without)
    }
  }
  return withoutUnusedExports(texts, others)
}

/** Leaves out what is exported, and nobody who takes it from there mentions. */
function withoutUnusedExports(texts, others) {
  const mentions = new Map([...texts].map(([name, text]) => [name, new Set(wordsOf(text))]))
  const asked = new Set(others.flatMap(wordsOf))
  const shortened = [...texts].map(([name, text]) => {
    const users = [...texts]
      .filter(([, other]) => other.includes(`/${name}`))
      .map(([user]) => mentions.get(user))
    const isUsed = (word) => asked.has(word) || users.some((words) => words.has(word))
    return [
      name,
      text.replace(/^module\.exports\.(\w+) *= .*;\n/gm, (line, word) => (isUsed(word) ? line : '')),
    ]
  })
  return new Map(shortened)
}

const exportOf = (word) => new RegExp(`^module\\.exports\\.${word}\\b *= (\\w+\\.)?${word};\\n`, 'gm')

/** Only those that have lines of their own, as the rest may be part of a text. */
function withoutComments(text) {
  return text.replace(/^\s*(\/\*(?:(?!\*\/)[^])*\*\/|\/\/.*)$/gm, '')
}

/** Of names that are taken from another module one by one. */
function withoutUnusedImports(text) {
  return text.replace(/^const \{([^{}]*)\} *= require\(/gm, (whole, names) => {
    const used = wordsOf(names).filter((name) => text.match(new RegExp(`\\b${name}\\b`, 'g')).length > 1)
    return used.length === wordsOf(names).length ? whole : whole.replace(names, ` ${used.join(', ')} `)
  })
}

/** For esbuild. */
export const fengariPlugin = {
  name: 'fengari-for-worker',
  async setup(build) {
    const texts = await fengariForWorker()
    build.onLoad({ filter: /[\\/]fengari[\\/]src[\\/]\w+\.js$/ }, ({ path }) => ({
      contents: texts.get(basename(path)),
    }))
  },
}
