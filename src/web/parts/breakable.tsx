import type { ComponentChildren } from 'preact'

/** Ids, topics and addresses are words of their own, joined by these. */
const joints = /(?<=[^\s/-][/-]|\/\/)(?=[^\s/-])/

/** A text whose lines may end after `/` and `-`, so that a long id or topic is not cut inside a word. */
export function breakable(text: string): ComponentChildren {
  return text.split(joints).flatMap((part, index) => (index === 0 ? [part] : [<wbr key={index} />, part]))
}
