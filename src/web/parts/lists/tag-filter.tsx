import type { ComponentChildren } from 'preact'
import { setQuery } from '../../base/router.ts'
import { compareText } from '../../base/words.ts'

/** Tags to choose from; a search finds the others. A repository may have thousands, and each is a node of the page. */
const offeredTags = 40
/** Tags of one plugin that are shown. */
const shownTags = 20

/** The tags that most of these have, in order. */
export function tagsOf(all: readonly { tags: readonly string[] }[]): string[] {
  const counts = new Map<string, number>()
  for (const { tags } of all) for (const tag of new Set(tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1)
  return [...counts]
    .sort(([, left], [, right]) => right - left)
    .slice(0, offeredTags)
    .map(([tag]) => tag)
    .sort(compareText)
}

/** One of the tags, or none; it stands in the address as `tag`. */
export function TagFilter({ tags, chosen }: { tags: readonly string[]; chosen: string }) {
  const offered = chosen === '' || tags.includes(chosen) ? tags : [chosen, ...tags]
  if (offered.length === 0) return null
  return (
    <div class="tags" role="group" aria-label="Tags">
      {offered.map((name) => (
        <button
          key={name}
          type="button"
          class="tag"
          aria-pressed={chosen === name}
          onClick={() => setQuery({ tag: chosen === name ? '' : name })}
        >
          {name}
        </button>
      ))}
    </div>
  )
}

/** The tags of one plugin. */
export function Tags({ tags, show }: { tags: readonly string[]; show(tag: string): ComponentChildren }) {
  const more = tags.length - shownTags
  return (
    <>
      {tags.slice(0, shownTags).map(show)}
      {more > 0 ? <span class="hint">and {more} more</span> : null}
    </>
  )
}
