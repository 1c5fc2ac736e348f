import { getOrInsert } from '../../base/get-or-insert.ts'
import type { IsolateUsage } from '../../schema/api/system.ts'
import { pluginPath } from '../base/router.ts'
import { countOf, megabytes } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { Link } from '../parts/link.tsx'

/** What the plugins take of the machine: by worker thread, as that is what memory and load are known of. */
export function IsolatesPanel({ isolates }: { isolates: readonly IsolateUsage[] }) {
  const workers = new Map<number, IsolateUsage[]>()
  for (const isolate of isolates) getOrInsert(workers, isolate.worker, () => []).push(isolate)
  return (
    <section class="panel">
      <h2>Isolates</h2>
      <p class="hint">
        {isolates.length === 0
          ? 'No plugin is loaded.'
          : `${countOf(isolates.length, 'plugin')} in ${countOf(workers.size, 'worker thread')}.`}
      </p>
      <ul class="isolates" aria-label="Isolates">
        {[...workers].map(([worker, plugins]) => (
          <Worker key={worker} number={worker} plugins={plugins} />
        ))}
      </ul>
    </section>
  )
}

function Worker({ number, plugins }: { number: number; plugins: readonly IsolateUsage[] }) {
  const [first] = plugins
  if (first === undefined) return null
  const { memory, memoryLimit, load, isolation } = first
  const name = isolation === 'dedicated' ? first.plugin : `worker ${number}`
  return (
    <li>
      <div class="worker">
        {isolation === 'dedicated' ? null : (
          <span class="hint">
            Worker {number}, shared by {countOf(plugins.length, 'plugin')}
          </span>
        )}
        {plugins.map(({ plugin }) => (
          <Link key={plugin} class="id" to={pluginPath(plugin)}>
            {breakable(plugin)}
          </Link>
        ))}
      </div>
      <span class="gauge">
        <meter
          aria-label={`Memory of ${name}`}
          min={0}
          max={memoryLimit}
          high={memoryLimit * 0.8}
          value={memory ?? 0}
        />
        {memory === null ? 'not known yet' : `${megabytes(memory)} of ${megabytes(memoryLimit)}`}
      </span>
      <span class="gauge">
        <meter aria-label={`Load of ${name}`} min={0} max={1} high={0.8} value={load ?? 0} />
        {load === null ? 'not known yet' : `${(load * 100).toFixed(1)} % busy`}
      </span>
    </li>
  )
}
