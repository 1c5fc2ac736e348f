import type { ComponentChildren } from 'preact'
import { place } from '../base/router.ts'
import { connection } from '../base/stream.ts'
import { nextTheme, theme } from '../base/theme.ts'
import { canLogOut, logOut } from '../store/session.ts'
import { HealthBanner } from './health-banner.tsx'
import { Icon, type IconName } from './icon.tsx'
import { Notices } from './notices.tsx'
import { SafeModeBanner } from './safe-mode-banner.tsx'

const links: readonly { path: string; label: string; icon: IconName }[] = [
  { path: '/plugins', label: 'Plugins', icon: 'plugins' },
  { path: '/catalog', label: 'Catalog', icon: 'catalog' },
  { path: '/machines', label: 'Machines', icon: 'machines' },
  { path: '/history', label: 'History', icon: 'history' },
  { path: '/repositories', label: 'Repositories', icon: 'repositories' },
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
        <a class="brand" href="/plugins">
          <span class="mark" aria-hidden="true" />
          Lupine
        </a>
        <p class={`connection ${connection.value}`} role="status">
          {connectionWords[connection.value]}
        </p>
        <button type="button" class="quiet" onClick={nextTheme}>
          <Icon name="theme" />
          <span class="wide">Theme: {themeWords[theme.value]}</span>
          <span class="hidden">. Change the theme</span>
        </button>
        {canLogOut.value ? (
          <button type="button" class="quiet" onClick={() => void logOut()}>
            <Icon name="leave" />
            <span class="narrow-hidden">Log out</span>
          </button>
        ) : null}
      </header>
      <nav class="main-nav" aria-label="Pages">
        {links.map(({ path: target, label, icon }) => {
          const current = path === target || path.startsWith(`${target}/`)
          return (
            <a key={target} href={target} aria-current={current ? 'page' : undefined}>
              <Icon name={icon} />
              <span>{label}</span>
            </a>
          )
        })}
      </nav>
      <main id="content" tabIndex={-1}>
        <HealthBanner />
        <SafeModeBanner />
        {children}
      </main>
      <Notices />
    </>
  )
}
