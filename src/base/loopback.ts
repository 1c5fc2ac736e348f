import { kindOfAddress } from './ip-address.ts'

/** Whether an address to listen at is reached from this machine alone. */
export function isLoopback(bind: string): boolean {
  return bind === 'localhost' || kindOfAddress(bind) === 'loopback'
}
