import type { ComponentProps } from 'preact'
import { addressOf } from '../base/address.ts'

interface LinkProps extends Pick<ComponentProps<'a'>, 'class' | 'aria-label' | 'aria-current' | 'children'> {
  /** A page: `/plugins`. */
  to: string
}

/** A link to a page of this host. */
export function Link({ to, ...attributes }: LinkProps) {
  return <a {...attributes} href={addressOf(to)} />
}
