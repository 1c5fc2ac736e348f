import { useState } from 'preact/hooks'
import { breakable } from './breakable.tsx'

/** What is shown without being asked for, in characters: some lines of a phone. */
const shownLength = 400

/** What a plugin says at whatever length: its beginning, with a button for the whole, so that what stands below stays near. */
export function LongText({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false)
  if (text.length <= shownLength) return <>{breakable(text)}</>
  // Not within a character.
  const beginning = [...text].slice(0, shownLength).join('').trimEnd()
  return (
    <>
      {breakable(isWhole ? text : `${beginning}…`)}{' '}
      <button type="button" class="small" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
        {isWhole ? 'Show only the beginning' : 'Show all of it'}
      </button>
    </>
  )
}
