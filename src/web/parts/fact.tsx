import type { ComponentChildren } from 'preact'
import { breakable } from './breakable.tsx'

interface FactProps {
  name: string
  /** How it looks: digits of one width, or tags in a row. */
  as?: 'number' | 'tag-line'
  children: ComponentChildren
}

/** One of a list of facts (`dl.facts`). */
export function Fact({ name, as, children }: FactProps) {
  return (
    <>
      <dt>{name}</dt>
      <dd class={as}>{children}</dd>
    </>
  )
}

/** An address that somebody has written: a link where it is one of the web. */
export function AddressLink({ address }: { address: string }) {
  if (!/^https?:/i.test(address)) return <>{breakable(address)}</>
  return (
    <a href={address} rel="noreferrer noopener" target="_blank">
      {breakable(address)}
    </a>
  )
}
