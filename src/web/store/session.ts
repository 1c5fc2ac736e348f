import { signal } from '@preact/signals'
import { needsToken, send, session, sessionPath } from '../base/api.ts'
import { tellFailure } from './notices.ts'

/** Whether this host asks for its token, and this browser has given it: then one can log out. */
export const canLogOut = signal(false)
/** Whether this host has no token: every program on its machine may command it. */
export const isOpen = signal(false)

export async function loadSession(): Promise<void> {
  const { required, authenticated } = await session()
  canLogOut.value = required && authenticated
  isOpen.value = !required
}

/** Ends the login. What the page knows goes with it, as it is loaded anew. */
export async function logOut(): Promise<void> {
  try {
    await send('DELETE', sessionPath)
  } catch (error) {
    // A login that has run out has ended too.
    if (!needsToken.peek()) {
      tellFailure(error)
      return
    }
  }
  sessionStorage.clear()
  location.reload()
}
