import { type ExposedComponent, type Exposure, featuresOf } from '../../src/schema/plugin/exposure.ts'

/** What a plugin exposes: all that there can be of a component, and what can be set of it. */
export function exposed(component: ExposedComponent, more: Partial<Exposure> = {}): Exposure {
  const features = Object.keys(featuresOf(component))
  const writable = features.filter((feature) => featuresOf(component)[feature]?.commanded)
  return { component, type: component, name: 'It', features, writable, ...more }
}
