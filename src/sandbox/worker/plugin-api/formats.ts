import { messageOf } from '../../../base/problem.ts'
import { base64 } from '../formats/base64.ts'
import { crypto } from '../formats/crypto.ts'
import { csv } from '../formats/csv.ts'
import type { FormatContext, FormatFunction, FormatLibrary } from '../formats/format-function.ts'
import { hex } from '../formats/hex.ts'
import { jsonpath } from '../formats/jsonpath.ts'
import { numbers } from '../formats/numbers.ts'
import { template } from '../formats/template.ts'
import { url } from '../formats/url.ts'
import { xml } from '../formats/xml.ts'
import { type HostFunction, isSteps } from '../lua/lua-value.ts'
import { toBytes } from '../lua/text/bytes.ts'

const libraries: Readonly<Record<string, FormatLibrary>> = {
  base64,
  hex,
  url,
  crypto,
  xml,
  csv,
  jsonpath,
  template,
  numbers,
}
const named = Object.entries(libraries).map(([name, functions]) => ({
  name,
  functions,
  fields: Object.fromEntries(Object.keys(functions).map((member) => [member, `${name}.${member}`])),
}))

/** The globals that only compute (plugin API, section 16): bad input gives nil and a message. */
export function installFormats(context: FormatContext): void {
  const { runtime } = context
  for (const { name, functions, fields } of named) {
    const table = runtime.provideLibrary(name, fields, (member) => {
      const implementation = functions[member]
      if (implementation === undefined) throw new Error(`${name} has no function ${member}`)
      return runtime.wrap(`${name}.${member}`, answering(context, implementation))
    })
    runtime.globals.set(name, table)
  }
}

function answering(context: FormatContext, implementation: FormatFunction): HostFunction {
  return function* (...args) {
    try {
      const result = implementation(context, ...args)
      return isSteps(result) ? yield* result : result
    } catch (error) {
      return [undefined, toBytes(messageOf(error))]
    }
  }
}
