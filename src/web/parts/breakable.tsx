import type { ComponentChildren } from 'preact'

/** Ids, topics and addresses are words of their own, joined by these. */
const joints = /(?<=[^\s/-][/-]|\/\/)(?=[^\s/-])/

/** Joints of one text at most: what has more is data, and each is a node of the page. */
const mostJoints = 100

/** A text whose lines may end after `/` and `-`, so that a long id or topic is not cut inside a word. */
export function breakable(text: string): ComponentChildren {
  const parts = text.split(joints)
  if (parts.length > mostJoints) return text
  return parts.flatMap((part, index) => (index === 0 ? [part] : [<wbr key={index} />, part]))
}
