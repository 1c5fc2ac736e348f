import { useEffect, useState } from 'preact/hooks'
import { needsToken, send, wordsOf } from '../base/api.ts'
import { Failure } from '../parts/feedback.tsx'
import { Page } from '../parts/page.tsx'
import { isLoggedIn } from '../store/session.ts'

/** Asks for the token that the host was started with; the host answers with a cookie that no script can read. */
export function LoginPage({ onDone }: { onDone(): void }) {
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState('')

  function go(): void {
    needsToken.value = false
    onDone()
  }

  // All tabs have one login: somebody may have logged in at another one.
  useEffect(() => {
    const look = async (): Promise<void> => {
      if (document.visibilityState === 'visible' && (await isLoggedIn())) go()
    }
    const listener = (): void => void look().catch(() => undefined)
    document.addEventListener('visibilitychange', listener)
    return () => document.removeEventListener('visibilitychange', listener)
  }, [])

  async function logIn(event: Event): Promise<void> {
    event.preventDefault()
    try {
      await send('POST', '/api/session', { token })
      go()
    } catch (error) {
      setProblem(wordsOf(error))
    }
  }

  return (
    <Page title="Log in">
      <form class="panel" onSubmit={(event) => void logIn(event)}>
        <label class="field">
          Token of this host (HOST_TOKEN)
          <input
            type="password"
            autocomplete="current-password"
            required
            value={token}
            onInput={({ currentTarget }) => setToken(currentTarget.value)}
          />
        </label>
        {problem === '' ? null : <Failure text={problem} />}
        <div class="actions">
          <button type="submit" class="primary" disabled={token === ''}>
            Log in
          </button>
        </div>
      </form>
    </Page>
  )
}
