import { isIPv4 } from 'node:net'

/** Whether an address to listen at is reached from this machine alone. */
export function isLoopback(bind: string): boolean {
  if (bind === 'localhost' || bind === '::1' || bind === '[::1]') return true
  return isIPv4(bind) && bind.startsWith('127.')
}
