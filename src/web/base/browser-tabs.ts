/**
 * Which tabs of this browser have a stream. Over HTTP/1.1 a browser has six connections to a host, for all its tabs
 * together: with a stream in each of six, no request of theirs got through, and the next page did not load. So a tab that
 * nobody can see gives its stream up once enough others have been looked at since.
 *
 * The tabs agree by telling each other, and need no lock: at worst one gives up that had not needed to, and it takes a
 * stream again when it is looked at. `navigator.locks` is not there over plain HTTP, and a worker that all share would
 * keep what it has for a tab that the browser has frozen.
 */

/**
 * So many have one; more only where more can be seen. Tabs in the background are among them, as what plugins emit is told
 * only once. The other half of the connections is for requests.
 */
const keptStreams = 3

interface Word {
  tab: number
  /** It took a stream or is looked at; it can be seen and has one, too; it has none any more. */
  says: 'took' | 'has' | 'left'
}

interface StreamHolder {
  /** Whether it has a stream now. */
  holds(): boolean
  /** Ends its stream, if it has one, and tells the tabs. */
  giveUp(): void
  /** Takes a stream again, if it has given one up, and tells the tabs. */
  takeUp(): void
}

/** Names this tab to the others; a page that is loaded anew is another one. */
const own = Math.random()
/** Those with a stream that can be seen, or were looked at, or opened, after this one. */
const newer = new Set<number>()
let channel: BroadcastChannel | undefined

/** That this tab has taken a stream or is looked at, or that it has none any more. */
export function tellTabs(holds: boolean): void {
  newer.clear()
  say(holds ? 'took' : 'left')
}

function say(says: Word['says']): void {
  channel?.postMessage({ tab: own, says } satisfies Word)
}

/** Firefox has none where somebody has all cookies blocked: then each tab keeps its stream. */
function openChannel(): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel('streams')
  } catch {
    return undefined
  }
}

export function shareConnections({ holds, giveUp, takeUp }: StreamHolder): void {
  channel = openChannel()
  channel?.addEventListener('message', ({ data }) => {
    const { tab, says } = data as Word
    if (says === 'left') newer.delete(tab)
    else newer.add(tab)
    if (document.visibilityState === 'visible') {
      if (says === 'took' && holds()) say('has')
    } else if (newer.size >= keptStreams) giveUp()
  })
  const look = (): void => {
    // It was looked at until now, or is from now on.
    if (holds()) tellTabs(true)
    else if (document.visibilityState === 'visible') takeUp()
  }
  document.addEventListener('visibilitychange', look)
  // A page that comes back by the button of the browser goes on where it was.
  addEventListener('pageshow', look)
  addEventListener('pagehide', giveUp)
  // What is frozen hears of no other tab.
  document.addEventListener('freeze', giveUp)
}
