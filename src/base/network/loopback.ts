import { kindOfAddress } from './ip-address.ts'

/** Whether an address to listen at is reached from this machine alone. */
export function isLoopback(bind: string): boolean {
  return bind === 'localhost' || kindOfAddress(bind) === 'loopback'
}

/** The host of an address of any protocol; empty when it has none. Only of some does `URL` take it apart by itself. */
export function hostOfAddress(address: string): string {
  const known = address.replace(/^[a-z]+:/, 'http:')
  return URL.canParse(known) ? new URL(known).hostname.replace(/^\[|\]$/g, '') : ''
}
