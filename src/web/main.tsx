import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { needsToken, pause, wordsOf } from './base/api.ts'
import { neutralizeBidiControls } from './base/bidi-controls.ts'
import { restoreFocus } from './base/restored-focus.ts'
import { followLinks, go, place } from './base/router.ts'
import { connections, followTabs, openStream, watchStream } from './base/stream.ts'
import { applyTheme } from './base/theme.ts'
import { CatalogPage } from './pages/catalog-page.tsx'
import { HistoryPage } from './pages/history-page.tsx'
import { HostsPage } from './pages/hosts-page.tsx'
import { LoginPage } from './pages/login-page.tsx'
import { MachinesPage } from './pages/machines-page.tsx'
import { PluginPage } from './pages/plugin-page.tsx'
import { PluginsPage } from './pages/plugins-page.tsx'
import { RepositoriesPage } from './pages/repositories-page.tsx'
import { SystemPage } from './pages/system-page.tsx'
import { Empty } from './parts/feedback.tsx'
import { Frame } from './parts/frame/frame.tsx'
import { Page } from './parts/frame/page.tsx'
import './style/base.css'
import './style/frame.css'
import './style/parts.css'
import './style/pages.css'
import './style/plugin.css'
import './style/settings.css'
import './style/machine.css'
import './style/forced-colors.css'
import { followJournal, isSameJournal, journal, loadJournal } from './store/journal.ts'
import { followEmittedEvents } from './store/emitted-events.ts'
import { closeFailure, tellFailure } from './store/notices.ts'
import { followPlugins, followReadJournal, loadPlugins } from './store/plugins.ts'
import { followHost, loadHost, lookAtHost, lookAtPage } from './store/host.ts'
import { loadSession } from './store/session.ts'
import { Link } from './parts/link.tsx'

function App() {
  return <Frame>{needsToken.value ? <LoginPage onDone={begin} /> : <Current />}</Frame>
}

function Current() {
  const { path } = place.value
  const [, page = '', ...rest] = partsOf(path)
  switch (page) {
    case '':
      return <Redirect to="/plugins" />
    case 'plugins':
      if (rest.length === 0 || rest[0] === '') return <PluginsPage />
      return rest[0]?.startsWith('@') === true && !rest[0].includes('/') ? (
        <PluginPage id={`${rest[0]}/${rest[1] ?? ''}`} tab={rest[2] ?? ''} />
      ) : (
        <PluginPage id={rest[0] ?? ''} tab={rest[1] ?? ''} />
      )
    case 'catalog':
      return <CatalogPage />
    case 'machines':
      return <MachinesPage key={rest[0]} name={rest[0] ?? 'plugin-lifecycle'} />
    case 'history':
      return <HistoryPage />
    case 'hosts':
      return <HostsPage />
    case 'repositories':
      return <RepositoriesPage />
    case 'system':
      return <SystemPage />
    default:
      return (
        <Page title="Nothing here">
          <Empty>
            There is no such page. <Link to="/plugins">Go to the plugins</Link>.
          </Empty>
        </Page>
      )
  }
}

/** Decoded; a document of a plugin may link to what cannot be, which is no page. */
function partsOf(path: string): string[] {
  try {
    return path.split('/').map((part) => decodeURIComponent(part))
  } catch {
    return ['', path]
  }
}

function Redirect({ to }: { to: string }) {
  useEffect(() => go(to, { replace: true }), [to])
  return null
}

/** Wait before something that could not be read is asked for again, in milliseconds. */
const retryTime = 3_000
/** How long it is waited for the journal before the host is listened to without, in milliseconds. */
const journalPatience = 5_000

/** Reads how things stand, and listens to the host; what cannot be read holds nothing else up. */
function begin(): void {
  void listen()
  void untilRead(loadSession)
  void untilRead(loadHost)
  // Says on its page what is wrong, and asks again by itself.
  void loadPlugins()
}

/** From the last event of the journal on, as soon as that is known. */
async function listen(): Promise<void> {
  const timer = setTimeout(() => {
    if (!needsToken.peek()) openStream(undefined)
  }, journalPatience)
  const lastSeq = await untilRead(loadJournal)
  clearTimeout(timer)
  if (lastSeq === undefined) return
  followReadJournal()
  openStream(lastSeq)
}

/** Asks until there is an answer, and says why there is none; undefined: the host wants a token first. */
async function untilRead<T>(read: () => Promise<T>): Promise<T | undefined> {
  let told = ''
  for (;;) {
    try {
      const answer = await read()
      closeFailure(told)
      return answer
    } catch (error) {
      if (needsToken.peek()) return undefined
      if (wordsOf(error) !== told) tellFailure(error)
      told = wordsOf(error)
    }
    await pause(retryTime)
  }
}

// What is not in the journal may have changed during a break, and the rest as well where the journal is not known.
let known = 0
connections.subscribe((count) => {
  if (count !== known) void lookAtPage()
  if ((count > 1 || (count === 1 && journal.peek().lastSeq === 0)) && count !== known) {
    void loadPlugins()
    lookAtHost()
    void followJournalOfHost()
  }
  known = count
})

/** Goes on with the journal that the host has, where that is another one. */
async function followJournalOfHost(): Promise<void> {
  // Where it cannot be told, the connection has broken again.
  if (!(await isSameJournal().catch(() => true))) await listen()
}

applyTheme()
neutralizeBidiControls()
restoreFocus()
followLinks()
followTabs()
watchStream()
followPlugins()
followJournal()
followEmittedEvents()
followHost()
const root = document.getElementById('app')
if (root !== null) render(<App />, root)
begin()
