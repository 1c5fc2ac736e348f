import { feature, fields, type FieldsOf, simple, template } from './feature-fields.ts'

/** The fields of what is on or off, and nothing more. */

export const onOff: FieldsOf = (exposure, topics) => ({
  ...feature(exposure, topics, 'state', simple, template.onOff),
  ...fields({ device_class: exposure.deviceClass }),
})

/** Classes that Home Assistant has for what is on or off. */
const onOffClasses: ReadonlySet<string> = new Set([
  ...['battery', 'battery_charging', 'carbon_monoxide', 'cold', 'connectivity', 'door', 'garage_door', 'gas'],
  ...['heat', 'light', 'lock', 'moisture', 'motion', 'moving', 'occupancy', 'opening', 'plug', 'power'],
  ...[
    'presence',
    'problem',
    'running',
    'safety',
    'smoke',
    'sound',
    'tamper',
    'update',
    'vibration',
    'window',
  ],
])
/** A sensor that has only given 0 and 1 until now may be of a class that only quantities have: with it there would be no entity. */
export const binarySensor: FieldsOf = (exposure, topics) => {
  const { device_class, ...rest } = onOff(exposure, topics)
  const isOfQuantities = exposure.type === 'sensor' && !onOffClasses.has(exposure.deviceClass ?? '')
  return isOfQuantities ? rest : { ...rest, ...fields({ device_class }) }
}
