import { listedFeatures } from '../../../../schema/plugin/exposed-components.ts'
import type { Exposure } from '../../../../schema/plugin/exposure.ts'
import { exposureBytesLimit } from '../../../../schema/worker/operation-size.ts'
import type { LuaTable, LuaValue } from '../../lua/lua-value.ts'
import type { Steps } from '../../lua/steps.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { option } from '../../lua/arguments.ts'
import { type ExposedObject, FeatureReader } from './exposed-object.ts'
import { ExposureAnnouncement } from './exposure-announcement.ts'
import { readExposureOptions, textsOf } from './exposure-options.ts'
import { exposedType } from './exposure-type.ts'
import { LiveExposure } from './live-exposure.ts'

export interface ExposedEntrySettings {
  id: string
  table: LuaTable
  object: ExposedObject
  /** Id of the plugin's own control, if the object is one. */
  control: string | undefined
  type: string
  options: LuaValue
  /** Takes room for what describes it now; false when there is none. */
  takeRoom(description: Partial<Exposure>): boolean
}

/** Throws when there is no room for its description. */
export function* createExposedEntry(
  context: PluginContext,
  settings: ExposedEntrySettings,
): Steps<LiveExposure> {
  const { id, table, object, control, type, options, takeRoom } = settings
  const settable = yield* object.has('set')
  const switchable = (yield* object.has('switchOn')) && (yield* object.has('switchOff'))
  const pressable = type === 'button' && ((yield* object.has('press')) || (yield* object.has('switchOn')))
  const writable = settable || switchable || pressable
  const resolved = exposedType(type, writable)
  const declared = context.source.controls.find((entry) => entry.id === control)
  const fixed = yield* readExposureOptions(settings, resolved, declared?.range)
  const { component } = resolved
  if (!takeRoom({ component, ...fixed }))
    throw new Error(`too many exposures: what they say of themselves may take ${exposureBytesLimit} bytes`)
  const readable = (yield* object.has('get')) && component !== 'button'
  if (resolved.unknown)
    context.log.write('warn', `expose: '${id}' has the unknown type '${type}'; it is shown as a sensor`)
  if (!readable && !writable) context.log.write('warn', `expose: '${id}' has neither get nor set`)
  const said = [...(textsOf(option(options, 'features')) ?? []), ...listedFeatures(fixed)]
  const abilities = { settable, switchable, pressable }
  return new LiveExposure({
    ...{ context, id, table, object, type, component, fixed, readable, abilities },
    isStateSaid: said.includes('state'),
    reader: new FeatureReader({ context, id, object, component, writable }),
    announcement: new ExposureAnnouncement({ context, id, fixed, said, abilities, takeRoom }),
  })
}
