import { setQuery } from '../base/router.ts'
import { compareText } from '../base/words.ts'

/** Every tag that one of these has, in order. */
export function tagsOf(all: readonly { tags: readonly string[] }[]): string[] {
  return [...new Set(all.flatMap(({ tags }) => tags))].sort(compareText)
}

/** One of the tags, or none; it stands in the address as `tag`. */
export function TagFilter({ tags, chosen }: { tags: readonly string[]; chosen: string }) {
  if (tags.length === 0) return null
  return (
    <div class="tags" role="group" aria-label="Tags">
      {tags.map((name) => (
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
