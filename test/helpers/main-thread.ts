import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'

/** What the browser's main thread does for a page, task by task. */

/** An event of Chromium's trace; times in microseconds. */
interface TraceEvent {
  name: string
  ph: string
  pid: number
  tid: number
  args: { name?: string }
  /** By the clock. */
  dur: number
  /** Time of the thread on a processor, without what it waited for one; of some short events it is not told. */
  tdur?: number
}

export interface MainThreadWork {
  /** Processor time of each task, in milliseconds, longest first. */
  tasks: number[]
  /** How often script was called. */
  calls: number
}

/** Microseconds below which Chromium does not always tell the processor time; that by the clock counts then, which is not less. */
const shortTask = 1_000

const isTask = ({ name }: TraceEvent): boolean => name === 'RunTask'

const timeOf = (events: readonly TraceEvent[]): number =>
  events.filter(isTask).reduce((sum, { dur, tdur = dur }) => sum + tdur, 0)

/**
 * Traces the page while `during` runs. A task is all that keeps the thread from drawing the next frame: script, and the
 * style, layout and painting that it brings about.
 *
 * It is measured in time of the processor, not of the clock: on a machine that others use as well a task that works for
 * 5 ms may well be over after 100, because the thread had to wait for its turn in between. That is not the page's doing,
 * and no change of it could help; the processor time is what the page asks for.
 */
export async function traceMainThread(page: Page, during: () => Promise<void>): Promise<MainThreadWork> {
  const session = await page.context().newCDPSession(page)
  const events: TraceEvent[] = []
  session.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as TraceEvent[])))
  const complete = new Promise<void>((resolve) => session.once('Tracing.tracingComplete', () => resolve()))
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['devtools.timeline', 'disabled-by-default-devtools.timeline'] },
  })
  await during()
  await session.send('Tracing.end')
  await complete
  await session.detach()

  const isOf = (thread: TraceEvent) => (event: TraceEvent) =>
    event.pid === thread.pid && event.tid === thread.tid
  const threads = events
    .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
    .map((thread) => events.filter((event) => event.ph === 'X' && isOf(thread)(event)))
    // Chromium has another one ready for the next page, with events of its own.
    .sort((one, other) => timeOf(other) - timeOf(one))
  const own = threads[0] ?? []
  const tasks = own.filter(isTask)
  assert.ok(tasks.length > 0, 'the trace has no tasks')
  assert.ok(
    tasks.every(({ dur, tdur }) => tdur !== undefined || dur < shortTask),
    'the trace has no processor times',
  )
  return {
    tasks: tasks.map(({ dur, tdur = dur }) => tdur / 1_000).sort((one, other) => other - one),
    calls: own.filter(({ name }) => name === 'FunctionCall').length,
  }
}
