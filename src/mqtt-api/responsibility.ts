/** What a host shows, and answers, over MQTT: in a fleet that of the plugins it has, and one host all else besides. */
export interface Responsibility {
  /** Whether this host has the plugin, and so knows what is true of it. */
  owns(plugin: string): boolean
  /** Also where no host has it, and this one says so. */
  isResponsibleFor(plugin: string): boolean
  /** Whether it is the one host for what belongs to no plugin. */
  isCoordinator(): boolean
}

/** Of a host that works by itself. */
export const soleHost: Responsibility = {
  owns: () => true,
  isResponsibleFor: () => true,
  isCoordinator: () => true,
}
