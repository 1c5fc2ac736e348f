import { useState } from 'preact/hooks'
import { breakable } from './breakable.tsx'

/** What is shown without being asked for, in characters: some lines of a phone. */
const shownLength = 400

/** What a plugin says at whatever length: its beginning, with a button for the whole, so that what stands below stays near. */
export function LongText({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false)
  // Not within a character.
  const beginning = [...text.slice(0, 2 * shownLength)].slice(0, shownLength).join('')
  if (beginning === text) return <bdi>{breakable(text)}</bdi>
  return (
    <>
      <bdi>{breakable(isWhole ? text : `${beginning.trimEnd()}…`)}</bdi>{' '}
      <button type="button" class="small" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
        {isWhole ? 'Show only the beginning' : 'Show all of it'}
      </button>
    </>
  )
}
