import { versions } from '../store/host.ts'
import { Icon } from './icon.tsx'

/** On every page that was loaded before the host was brought to another version. */
export function VersionBanner() {
  const { page, host } = versions.value ?? { page: '', host: '' }
  if (page === host) return null
  return (
    <section class="note banner" aria-label="Version">
      <Icon name="warning" />
      <div>
        <strong>
          The host runs version {host} now, and this page is of {page}.
        </strong>{' '}
        What you have typed into settings is kept when it is loaded anew, but for secrets.
      </div>
      <button type="button" onClick={() => location.reload()}>
        Load this page anew
      </button>
    </section>
  )
}
