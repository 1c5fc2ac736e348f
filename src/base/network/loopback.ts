import { isIPv6 } from 'node:net'
import { kindOfAddress } from './ip-address.ts'

/** Whether an address to listen at is reached from this machine alone. */
export function isLoopback(bind: string): boolean {
  return bind === 'localhost' || kindOfAddress(bind) === 'loopback'
}

/** The host part of a URL that reaches a listener at this address from this machine: "all addresses" is none. */
export function urlHostOf(bind: string): string {
  if (bind === '0.0.0.0') return '127.0.0.1'
  if (bind === '::' || bind === '[::]') return '[::1]'
  return isIPv6(bind) ? `[${bind}]` : bind
}

/** The host of an address of any protocol; empty when it has none. Only of some does `URL` take it apart by itself. */
export function hostOfAddress(address: string): string {
  const known = address.replace(/^[a-z]+:/, 'http:')
  return URL.canParse(known) ? new URL(known).hostname.replace(/^\[|\]$/g, '') : ''
}
