import { place, setQuery } from '../../base/router.ts'
import type { CatalogEntry } from '../../base/types.ts'
import { Icon } from '../icon.tsx'
import { literalText } from '../inputs/literal-text.ts'

interface SearchBoxProps {
  label: string
  /** How many there are; told only while something is searched. Undefined: they are being read. */
  found: number | undefined
}

/** What is searched on this page: it stands in the address as `q`. */
export function searchedText(): string {
  return place.value.query.get('q') ?? ''
}

/** Those in whose text is what is searched, in large letters or small ones; all where nothing is searched. */
export function fitting<Item>(
  items: readonly Item[],
  wanted: string,
  textOf: (item: Item) => string,
): readonly Item[] {
  const text = wanted.trim().toLowerCase()
  return text === '' ? items : items.filter((item) => textOf(item).toLowerCase().includes(text))
}

/** Of a plugin, what is searched: the lines of it. */
export function textOfPlugin(
  { name, description, author, tags }: Pick<CatalogEntry, 'name' | 'description' | 'author' | 'tags'>,
  id: string,
): string {
  return [id, name, description, author, ...tags].join('\n')
}

export function SearchBox({ label, found }: SearchBoxProps) {
  const value = searchedText()
  return (
    <>
      <div class="search">
        <Icon name="search" />
        <input
          type="search"
          {...literalText}
          aria-label={label}
          placeholder={label}
          value={value}
          onInput={({ currentTarget }) => setQuery({ q: currentTarget.value })}
        />
      </div>
      <span class="hint" role="status">
        {value.trim() === '' || found === undefined ? '' : `${found} found`}
      </span>
    </>
  )
}
