import type { SAXParser } from 'sax'
import { deepest } from '../lua/json-values.ts'
import type { LuaTable } from '../lua/lua-value.ts'
import { pause } from '../lua/steps.ts'
import { toBytes, toLatin1 } from '../lua/text/bytes.ts'
import { bytesArgument, createValueCount, type FormatContext, type FormatLibrary } from './format-function.ts'
import lazyModules from './lazy-modules.cts'

/** Bytes that are read between two pauses: of small elements they are two hundred. */
const pieceBytes = 2 * 1024
/** Bytes in which a document says how it is encoded. */
const declarationBytes = 256
/** An element is three tables and two texts, besides its attributes; a table takes more than a text. */
const valuesOfElement = 8

interface Element {
  table: LuaTable
  children: LuaTable
  count: number
  texts: string[]
}

/** XML 1.0 as elements of tables; a document type that defines entities is refused. */
export const xml: FormatLibrary = {
  *decode(context, text) {
    const bytes = bytesArgument(text, 'the text')
    const reader = createReader(context)
    const decoder = decoderFor(bytes)
    for (let start = 0; start < bytes.length; start += pieceBytes) {
      if (start > 0) yield pause
      reader.write(decoder.decode(bytes.subarray(start, start + pieceBytes), { stream: true }))
    }
    reader.write(decoder.decode())
    return reader.end()
  },
}

function decoderFor(bytes: Uint8Array): InstanceType<typeof TextDecoder> {
  const beginning = toLatin1(bytes.subarray(0, declarationBytes))
  const [, encoding = 'utf-8'] =
    /^[^<]{0,3}<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(beginning) ?? []
  try {
    return new TextDecoder(encoding)
  } catch {
    throw new Error(`the encoding ${encoding} is not known`)
  }
}

function createReader({ runtime }: FormatContext) {
  const library = lazyModules.sax()
  // The text is in memory already, so no part of it can be too long.
  library.MAX_BUFFER_LENGTH = Number.POSITIVE_INFINITY
  const parser = library.parser(true, { strictEntities: true })
  const open: Element[] = []
  let root: LuaTable | undefined
  const count = createValueCount()

  function refuse(problem: string): never {
    throw new Error(`line ${parser.line + 1}: ${problem}`)
  }

  Object.assign(parser, {
    onerror({ message }: Error) {
      // It goes on behind an error otherwise.
      refuse(message.split('\n', 1)[0] ?? message)
    },
    ondoctype(text: string) {
      if (/<!ENTITY/i.test(text)) refuse('a document type that defines entities is not read')
    },
    onopentag({ name, attributes }: { name: string; attributes: Record<string, string> }) {
      if (open.length >= deepest) refuse(`more than ${deepest} levels deep`)
      if (open.length === 0 && root !== undefined) refuse('there is more than one root element')
      const pairs = Object.entries(attributes)
      count(valuesOfElement + pairs.length)
      const element: Element = {
        table: runtime.newTable(),
        children: runtime.newTable(),
        count: 0,
        texts: [],
      }
      const own = runtime.newTable()
      for (const [key, value] of pairs) own.set(key, toBytes(value))
      element.table.set('name', toBytes(name))
      element.table.set('attributes', own)
      element.table.set('children', element.children)
      const parent = open.at(-1)
      if (parent === undefined) root = element.table
      else {
        parent.count += 1
        parent.children.set(parent.count, element.table)
      }
      open.push(element)
    },
    onclosetag() {
      const element = open.pop()
      element?.table.set('text', toBytes(element.texts.join('')))
    },
    ontext: addText,
    oncdata: addText,
  } satisfies Partial<Record<keyof SAXParser, unknown>>)

  function addText(text: string): void {
    open.at(-1)?.texts.push(text)
  }

  return {
    write: (text: string) => void parser.write(text),
    end(): LuaTable {
      parser.close()
      return root ?? refuse('there is no element')
    },
  }
}
