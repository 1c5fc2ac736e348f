import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { dateTimeOf } from '../../base/words.ts'
import { faults, isPageOld, leaveSafeMode, safeMode, versions } from '../../store/host.ts'
import { breakable } from '../breakable.tsx'
import { Icon } from '../icon.tsx'

/** What is said on every page as long as it is so. */
export function Banners() {
  return (
    <>
      <VersionBanner />
      <HealthBanner />
      <SafeModeBanner />
    </>
  )
}

interface BannerProps {
  label: string
  children: ComponentChildren
  /** What one can do about it. */
  button?: ComponentChildren
}

function Banner({ label, children, button }: BannerProps) {
  return (
    <section class="note banner" aria-label={label}>
      <Icon name="warning" />
      <div>{children}</div>
      {button}
    </section>
  )
}

/** On a page that was loaded before the host was updated. */
function VersionBanner() {
  const { page, host } = versions.value ?? { page: '', host: '' }
  if (page === host && !isPageOld.value) return null
  const reload = (
    <button type="button" onClick={() => location.reload()}>
      Load this page anew
    </button>
  )
  return (
    <Banner label="Version" button={reload}>
      <strong>
        {page === host
          ? 'The host has been updated since this page was loaded.'
          : `The host runs version ${host} now, and this page is of ${page}.`}
      </strong>{' '}
      What you have typed into settings is kept when it is loaded anew, but for secrets.
    </Banner>
  )
}

/** The reasons of `/readyz` are sentences, and parts of such. */
function sentence(reason: string): string {
  const text = reason.charAt(0).toUpperCase() + reason.slice(1)
  return /[.!?]$/.test(text) ? text : `${text}.`
}

function HealthBanner() {
  if (faults.value.length === 0) return null
  return (
    <Banner label="Health">
      <strong>The host is not in order.</strong> {breakable(faults.value.map(sentence).join(' '))}
    </Banner>
  )
}

function SafeModeBanner() {
  const [leaving, setLeaving] = useState(false)
  const mode = safeMode.value
  if (mode === null) return null

  async function leave(): Promise<void> {
    setLeaving(true)
    await leaveSafeMode()
    setLeaving(false)
  }

  const button = (
    <button type="button" disabled={leaving} onClick={() => void leave()}>
      {leaving ? 'Starting the plugins…' : 'Leave safe mode'}
    </button>
  )
  return (
    <Banner label="Safe mode" button={button}>
      <strong>Safe mode: no plugin is loaded.</strong> {mode.reason}
      <small> Since {dateTimeOf(mode.since)}. Plugins can be looked at, set up and switched off.</small>
    </Banner>
  )
}
