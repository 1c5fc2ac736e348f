import { useEffect, useState } from 'preact/hooks'
import { pluginApi } from '../base/api.ts'
import type { Plugin } from '../base/types.ts'
import { valueText } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { Empty, Failure } from '../parts/feedback.tsx'
import { useGrowing } from '../parts/growing.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { useChanges } from '../store/changes.ts'
import { useRemote } from '../store/remote.ts'

export function ObjectsTab({ plugin }: { plugin: Plugin }) {
  const { id, state } = plugin
  const { value, error, reload } = useRemote<{ objects: Record<string, unknown> }>(pluginApi(id, '/objects'))
  const { changes, forget } = useChanges('object', id, value)
  useEffect(() => {
    forget()
    reload()
  }, [state])
  const objects = new Map(Object.entries(value?.objects ?? {}))
  for (const [path, change] of changes) {
    if (change.removed) objects.delete(path)
    else objects.set(path, change.value)
  }
  const [wanted, setWanted] = useState('')
  const text = wanted.trim().toLowerCase()
  const paths = [...objects.keys()]
    .filter((path) => `${path} ${valueText(objects.get(path))}`.toLowerCase().includes(text))
    .sort()
  const growing = useGrowing(paths.length)
  return (
    <section class="panel">
      <h2>Objects</h2>
      {error === '' ? null : <Failure text={error} onRetry={reload} />}
      {objects.size === 0 ? (
        <Empty>
          {plugin.name} has no objects{state === 'running' ? '' : ' while it is not running'}.
        </Empty>
      ) : (
        <div class="toolbar">
          <SearchBox label="Search the objects" value={wanted} onInput={setWanted} />
        </div>
      )}
      {objects.size > 0 && paths.length === 0 ? <Empty>No object fits the search.</Empty> : null}
      <ul class="objects" aria-label="Objects">
        {paths.slice(0, growing.shown).map((path) => (
          <li key={path}>
            <h3 class="id">{breakable(path)}</h3>
            <ObjectValue value={objects.get(path)} />
          </li>
        ))}
      </ul>
      {growing.end}
    </section>
  )
}

function ObjectValue({ value }: { value: unknown }) {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return <code>{breakable(valueText(value))}</code>
  return (
    <dl class="facts">
      {Object.entries(value as Record<string, unknown>).map(([key, member]) => (
        <Member key={key} name={key} value={member} />
      ))}
    </dl>
  )
}

function Member({ name, value }: { name: string; value: unknown }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <code>{breakable(valueText(value))}</code>
      </dd>
    </>
  )
}
