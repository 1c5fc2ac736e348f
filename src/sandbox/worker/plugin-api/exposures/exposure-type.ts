import type { ExposedComponent } from '../../../../schema/plugin/exposure.ts'

/** Which component of Home Assistant's an exposed type is (plugin API, section 10). Pure. */

export interface ExposedType {
  component: ExposedComponent
  unit?: string
  deviceClass?: string
  stateClass?: string
  /** Nobody knows a type of this name. */
  unknown?: boolean
}

const measured = (deviceClass: string, unit: string): ExposedType => ({
  component: 'sensor',
  unit,
  deviceClass,
  stateClass: 'measurement',
})

/** Components by type: when the object can be set, and when not. */
const types: Readonly<Record<string, readonly [writable: ExposedType, readOnly: ExposedType]>> = {
  switch: [{ component: 'switch' }, { component: 'binary_sensor' }],
  boolean: [{ component: 'switch' }, { component: 'binary_sensor' }],
  number: [{ component: 'number' }, { component: 'sensor' }],
  sensor: [{ component: 'sensor' }, { component: 'sensor' }],
  binary_sensor: [{ component: 'binary_sensor' }, { component: 'binary_sensor' }],
  temperature: [measured('temperature', '°C'), measured('temperature', '°C')],
  humidity: [measured('humidity', '%'), measured('humidity', '%')],
  fan: [{ component: 'fan' }, { component: 'sensor' }],
  light: [{ component: 'light' }, { component: 'binary_sensor' }],
  climate: [{ component: 'climate' }, { component: 'climate' }],
  cover: [{ component: 'cover' }, { component: 'cover' }],
  select: [{ component: 'select' }, { component: 'sensor' }],
  button: [{ component: 'button' }, { component: 'sensor' }],
  text: [{ component: 'text' }, { component: 'sensor' }],
  event: [{ component: 'event' }, { component: 'event' }],
  ...Object.fromEntries(
    (['vacuum', 'water_heater', 'lawn_mower', 'device_tracker', 'image', 'update', 'valve'] as const).map(
      (component) => [component, [{ component }, { component }]],
    ),
  ),
  // Home Assistant has no such thing that cannot be set.
  ...Object.fromEntries(
    (['lock', 'siren', 'humidifier', 'date', 'time', 'datetime', 'notify'] as const).map((component) => [
      component,
      [{ component }, { component: 'sensor' }],
    ]),
  ),
  alarm: [{ component: 'alarm_control_panel' }, { component: 'sensor' }],
}

export function exposedType(type: string, writable: boolean): ExposedType {
  const known = Object.hasOwn(types, type) ? types[type] : undefined
  return known?.[writable ? 0 : 1] ?? { component: 'sensor', unknown: true }
}
