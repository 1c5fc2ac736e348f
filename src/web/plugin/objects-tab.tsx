import type { Plugin } from '../base/types.ts'
import { valueText } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { Fact } from '../parts/fact.tsx'
import { Empty, EmptyOfPlugin, ReadState } from '../parts/feedback.tsx'
import { InfiniteList } from '../parts/lists/infinite-scroll.tsx'
import { fitting, SearchBox, searchedText } from '../parts/lists/search-box.tsx'
import { useObjects } from '../store/values.ts'

export function ObjectsTab({ plugin }: { plugin: Plugin }) {
  const { objects, remote } = useObjects(plugin)
  const paths = fitting(
    [...objects.keys()].sort(),
    searchedText(),
    (path) => `${path} ${valueText(objects.get(path))}`,
  )
  return (
    <section class="panel">
      <h2>Objects</h2>
      <ReadState remote={remote} what="the objects" />
      {objects.size > 0 ? (
        <div class="toolbar">
          <SearchBox label="Search the objects" found={paths.length} />
        </div>
      ) : remote.value === undefined ? null : (
        <EmptyOfPlugin plugin={plugin} nothing="has no objects" />
      )}
      {objects.size > 0 && paths.length === 0 ? <Empty>No object fits the search.</Empty> : null}
      <InfiniteList class="objects" label="Objects" items={paths}>
        {(path) => (
          <li key={path}>
            <h3 class="id">{breakable(path)}</h3>
            <ObjectValue value={objects.get(path)} />
          </li>
        )}
      </InfiniteList>
    </section>
  )
}

function ObjectValue({ value }: { value: unknown }) {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return <code>{breakable(valueText(value))}</code>
  return (
    <dl class="facts">
      {Object.entries(value as Record<string, unknown>).map(([key, member]) => (
        <Fact key={key} name={key}>
          <code>{breakable(valueText(member))}</code>
        </Fact>
      ))}
    </dl>
  )
}
