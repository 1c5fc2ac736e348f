import { Problem } from '../../base/problem.ts'

/**
 * The facts follow from a state in which the plugin is no longer: what was written down before them became known only
 * meanwhile. Whoever decided them does so again, from the newer state.
 */
export class StaleDecisionError extends Problem {
  constructor(plugin: string, cause?: unknown) {
    super('plugin_moving', `${plugin} has changed while that was decided; try again in a second.`, { cause })
  }
}

/** It says nothing about the plugin: what the hosts of a fleet share was away, or behind, and the same may be done again. */
export function isTransient(refusal: unknown): boolean {
  return (
    refusal instanceof StaleDecisionError ||
    (refusal instanceof Problem && refusal.code === 'fleet_unreachable')
  )
}
