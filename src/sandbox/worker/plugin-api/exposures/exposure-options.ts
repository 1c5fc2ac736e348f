import { rangePattern } from '../../../../schema/plugin/control-value.ts'
import { choiceNames, deviceIdPattern, stateClasses } from '../../../../schema/plugin/exposed-components.ts'
import type { ExposedDevice, Exposure } from '../../../../schema/plugin/exposure.ts'
import type { LuaValue } from '../../lua/lua-value.ts'
import type { Steps } from '../../lua/steps.ts'
import { isTable, listOf, option, optionalNumber, optionalText } from '../../lua/arguments.ts'
import type { ExposedEntrySettings } from './exposed-entry.ts'
import type { ExposedType } from './exposure-type.ts'

/** Characters of an id, a name or another option; they are levels of topics and names on screens. */
export const exposureTextLimit = 128
/** Values of a select, or types of an event. */
export const exposureOptionsLimit = 200

/** What does not change of an exposure: what the options say, the type implies, or the manifest declares. */
export type ExposureDescription = Omit<Exposure, 'component' | 'features' | 'writable'>

/** `range`: what the manifest declares of the control, `<min>-<max>`. */
export function* readExposureOptions(
  { id, object, control, type, options }: ExposedEntrySettings,
  implied: ExposedType,
  range: string | undefined,
): Steps<ExposureDescription> {
  const text = (name: string): string | undefined =>
    optionalText(option(options, name))?.slice(0, exposureTextLimit)
  const number = (name: string): number | undefined => {
    const value = optionalNumber(option(options, name))
    return Number.isFinite(value) ? value : undefined
  }
  const [, least, most] = rangePattern.exec(range ?? '') ?? []
  const all = {
    type,
    name: text('name') ?? (yield* object.field('name'))?.slice(0, exposureTextLimit) ?? id,
    control,
    area: text('area'),
    unit: text('unit') ?? implied.unit,
    min: number('min') ?? (least === undefined ? undefined : Number(least)),
    max: number('max') ?? (most === undefined ? undefined : Number(most)),
    step: number('step'),
    icon: text('icon'),
    deviceClass: text('device_class') ?? implied.deviceClass,
    stateClass: stateClasses.find((name) => name === text('state_class')) ?? implied.stateClass,
    options: textsOf(option(options, 'options')),
    ...Object.fromEntries(choiceNames.map((name) => [name, textsOf(option(options, name))])),
  }
  // What is not said is left out: it would be a member all the same.
  const device = deviceOf(option(options, 'device'))
  const said = Object.fromEntries(
    Object.entries(all).filter(([, value]) => value !== undefined),
  ) as typeof all
  return (device === undefined ? said : { ...said, device }) as ExposureDescription
}

/** Throws `Error` when it has no id that Home Assistant takes. */
function deviceOf(value: LuaValue): ExposedDevice | undefined {
  if (value === undefined) return undefined
  const id = optionalText(option(value, 'id'))
  if (id === undefined || id.length > exposureTextLimit || !devicePattern.test(id))
    throw new Error(`the option device needs an id of letters, digits, _ and -, ${exposureTextLimit} at most`)
  const device: ExposedDevice = { id }
  for (const name of deviceTexts) {
    const text = optionalText(option(value, name))?.slice(0, exposureTextLimit)
    if (text !== undefined && text !== '') device[name] = text
  }
  return device
}

const devicePattern = new RegExp(deviceIdPattern)
const deviceTexts = ['name', 'model', 'manufacturer', 'serial', 'version', 'area', 'via'] as const

/** The texts of a list, as far as there is room for them. */
export function textsOf(value: LuaValue): string[] | undefined {
  if (!isTable(value)) return undefined
  const texts = listOf(value, exposureOptionsLimit).flatMap((item) => optionalText(item) ?? [])
  return texts.length === 0 ? undefined : texts.map((text) => text.slice(0, exposureTextLimit))
}
