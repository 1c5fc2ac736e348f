import { hidesDollar, isFilter, isTopic } from '../base/topic-filter.ts'
import { createTopics } from './topics.ts'

/** Who may do what on the bus (contract, section 4). Pure functions; the host itself is not asked. */

export function isBrokerInternal(topic: string): boolean {
  return topic === '$SYS' || topic.startsWith('$SYS/')
}

/**
 * Whether a client or a plugin may publish to this topic: anywhere, except to what the host and the broker
 * say themselves. Below the root only commands are open: `…/controls/<id>/set`,
 * `…/exposed/<id>/<feature>/set` and `R/request/<verb>`.
 */
export function mayPublish(root: string, topic: string): boolean {
  if (!isTopic(topic) || isBrokerInternal(topic)) return false
  if (topic !== root && !topic.startsWith(`${root}/`)) return true
  const topics = createTopics(root)
  const parsers = [topics.parseControlSet, topics.parseExposedSet, topics.parseRequest]
  return parsers.some((parse) => parse(topic) !== undefined)
}

/** Whether a client or a plugin may subscribe. The broker's `$SYS` tells of other clients; nobody sees it. */
export function maySubscribe(filter: string): boolean {
  return isFilter(filter) && !isBrokerInternal(filter)
}

/**
 * Whether a message is a command to the host. It may hold a configuration with its secrets, so nobody but the host
 * gets it, whoever subscribes.
 */
export function isRequest(root: string, topic: string): boolean {
  return topic.startsWith(`${root}/request/`)
}

/** Whether a subscriber gets a message, whatever its filter was. */
export function mayReceive(filter: string, topic: string): boolean {
  return !isBrokerInternal(topic) && !hidesDollar(filter, topic)
}
