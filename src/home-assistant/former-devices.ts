import type { BusMessage } from '../bus/bus.ts'
import type { PublishedNames } from '../schema/files/names-file.ts'
import { createTopics, isDiscoveryTopicOf } from '../schema/names/topics.ts'
import { readDevice } from './read-device.ts'

/** The devices that a host has announced under names that it has no more. */
export interface FormerDevices {
  filter: string
  /**
   * Whether the message announces one of them. It is looked for in what it says: a copy of the host's directory may have
   * the same id and another root, and live.
   */
  isLeft(message: BusMessage): boolean
}

/** Undefined: none was announced, or they still have their topics. */
export function formerDevices(names: PublishedNames, present: PublishedNames): FormerDevices | undefined {
  const { hostId, prefix } = names
  if (prefix === '' || (hostId === present.hostId && prefix === present.prefix)) return undefined
  const { status } = createTopics(names.root)
  return {
    filter: `${prefix}/device/+/config`,
    isLeft: ({ topic, payload, retained }) =>
      retained &&
      isDiscoveryTopicOf(prefix, hostId, topic) &&
      readDevice(payload, hostId)?.availability.includes(status) === true,
  }
}
