import { closestName } from '../../../base/text/closest-name.ts'
import { globalFunctions, tableFields } from './names.ts'

/** A call of what is not there, as Lua tells of it. */
const missingFunction = /attempt to call a nil value \((?:method|field|global) '(\w{5,})'\)$/

const known = [...Object.values(tableFields), globalFunctions].flatMap((fields) => Object.keys(fields))

/** The message of an error, and the function of the plugin API that was meant where one is called nearly so. */
export function withSuggestedFunction(message: string): string {
  const [, name] = missingFunction.exec(message) ?? []
  const meant = name === undefined ? undefined : closestName(name, known)
  return meant === undefined || meant === name ? message : `${message} (did you mean: '${meant}'?)`
}
