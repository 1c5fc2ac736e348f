import type { ComponentChildren } from 'preact'

/** Ids, topics and addresses are words of their own, joined by these. */
const joints = /(?<=[^\s/-][/-]|\/\/)(?=[^\s/-])/

/** Joints of one text at most: what has more is data, and each is a node of the page. */
const mostJoints = 100

/**
 * Characters that turn the direction of what follows them, to the end of the line: in a name they would turn the words of the
 * page around it, so that a plugin seems to ask for something else.
 */
const turns = /[\u202a-\u202e\u2066-\u2069]/g

/**
 * A text whose lines may end after `/` and `-`, so that a long id or topic is not cut inside a word. What would turn its
 * direction is shown as a character that cannot be shown.
 */
export function breakable(given: string): ComponentChildren {
  const text = given.replace(turns, '\ufffd')
  const parts = text.split(joints)
  if (parts.length > mostJoints) return text
  return parts.flatMap((part, index) => (index === 0 ? [part] : [<wbr key={index} />, part]))
}
