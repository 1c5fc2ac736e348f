import { useEffect, useState } from 'preact/hooks'
import { needsToken, send, session, sessionPath } from '../base/api.ts'
import { Failure } from '../parts/feedback.tsx'
import { Page } from '../parts/frame/page.tsx'
import { useSubmit } from '../parts/inputs/use-submit.ts'

/** Asks for the token that the host was started with; the host answers with a cookie that no script can read. */
export function LoginPage({ onDone }: { onDone(): void }) {
  const [token, setToken] = useState('')

  function go(): void {
    needsToken.value = false
    onDone()
  }

  // All tabs have one login: somebody may have logged in at another one, also before this page was there.
  useEffect(() => {
    const look = async (): Promise<void> => {
      if (document.visibilityState === 'visible' && (await session()).authenticated) go()
    }
    const listener = (): void => void look().catch(() => undefined)
    document.addEventListener('visibilitychange', listener)
    listener()
    return () => document.removeEventListener('visibilitychange', listener)
  }, [])

  const { submit, failure } = useSubmit(async () => {
    await send('POST', sessionPath, { token })
    if (!(await session()).authenticated)
      throw new Error(
        'The token is right, but this browser keeps no cookie of this host: let it, and log in again.',
      )
    go()
  })

  return (
    <Page title="Log in">
      <form class="panel" onSubmit={submit}>
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
        {failure === '' ? null : <Failure text={failure} />}
        <div class="actions">
          <button type="submit" class="primary" disabled={token === ''}>
            Log in
          </button>
        </div>
      </form>
    </Page>
  )
}
