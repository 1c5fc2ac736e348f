import type { ComponentChildren } from 'preact'
import { needsToken } from '../../base/api.ts'
import { place } from '../../base/router.ts'
import { connection } from '../../base/stream.ts'
import { nextTheme, theme } from '../../base/theme.ts'
import { isInFleet } from '../../store/host.ts'
import { canLogOut, logOut } from '../../store/session.ts'
import { Banners } from './banners.tsx'
import { Icon, type IconName } from '../icon.tsx'
import { Notices } from './notices.tsx'
import { Link } from '../link.tsx'

interface Destination {
  path: string
  label: string
  icon: IconName
  /** Only where several hosts work as one. */
  ofFleet?: boolean
}

const links: readonly Destination[] = [
  { path: '/plugins', label: 'Plugins', icon: 'plugins' },
  { path: '/catalog', label: 'Catalog', icon: 'catalog' },
  { path: '/machines', label: 'Machines', icon: 'machines' },
  { path: '/history', label: 'History', icon: 'history' },
  { path: '/repositories', label: 'Repositories', icon: 'repositories' },
  { path: '/hosts', label: 'Hosts', icon: 'hosts', ofFleet: true },
  { path: '/system', label: 'System', icon: 'system' },
]

const themeWords = { system: 'as the system', light: 'light', dark: 'dark' } as const

const connectionWords = {
  connecting: 'Connecting…',
  connected: 'Live',
  disconnected: 'Disconnected, trying again…',
} as const

/** What is around every page. */
export function Frame({ children }: { children: ComponentChildren }) {
  const { path } = place.value
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <Link class="brand" to="/plugins">
          <span class="mark" aria-hidden="true" />
          Lupine
        </Link>
        <p class={`connection ${needsToken.value ? 'disconnected' : connection.value}`} role="status">
          {/* Nothing is tried again until somebody does. */}
          {needsToken.value ? 'Log in to connect' : connectionWords[connection.value]}
        </p>
        <button type="button" class="quiet" onClick={nextTheme}>
          <Icon name="theme" />
          <span class="narrow-hidden">Theme: {themeWords[theme.value]}</span>
          <span class="hidden">. Change the theme</span>
        </button>
        {canLogOut.value && !needsToken.value ? (
          <button type="button" class="quiet" onClick={() => void logOut()}>
            <Icon name="leave" />
            <span class="narrow-hidden">Log out</span>
          </button>
        ) : null}
      </header>
      <nav class="main-nav" aria-label="Pages">
        {links.map(({ path: target, label, icon, ofFleet = false }) => {
          if (ofFleet && !isInFleet.value) return null
          const current = path === target || path.startsWith(`${target}/`)
          return (
            <Link key={target} to={target} aria-current={current ? 'page' : undefined}>
              <Icon name={icon} />
              <span>{label}</span>
            </Link>
          )
        })}
      </nav>
      <main id="content" tabIndex={-1}>
        <Banners />
        {children}
      </main>
      <Notices />
    </>
  )
}
