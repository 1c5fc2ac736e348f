import { useState } from 'preact/hooks'
import { wordsWithDetails } from '../../base/api.ts'

interface Submit {
  /** For `onSubmit` of a form, or a button. Does nothing while it is under way. */
  submit(event: Event): void
  sending: boolean
  /** Why it was not done last; empty: it was, or nothing was sent yet. */
  failure: string
  forgetFailure(): void
}

/** What a form does with what was typed; what the action throws is the failure. */
export function useSubmit(action: () => Promise<void>): Submit {
  const [sending, setSending] = useState(false)
  const [failure, setFailure] = useState('')

  async function run(): Promise<void> {
    setSending(true)
    try {
      await action()
      setFailure('')
    } catch (reason) {
      setFailure(wordsWithDetails(reason))
    } finally {
      setSending(false)
    }
  }

  return {
    submit(event) {
      event.preventDefault()
      if (!sending) void run()
    },
    sending,
    failure,
    forgetFailure: () => setFailure(''),
  }
}
