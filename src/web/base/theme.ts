import { effect, signal } from '@preact/signals'
import { keepText, keptText } from './storage.ts'

/** Light or dark: as the system has it, until somebody chooses. */
export type Theme = 'system' | 'light' | 'dark'

const key = 'theme'

function stored(): Theme {
  const value = keptText('localStorage', key)
  return value === 'light' || value === 'dark' ? value : 'system'
}

export const theme = signal<Theme>(stored())

/** `light-dark()` of CSS would know by itself, but is not there in the oldest browsers that these pages are for. */
const systemDark = matchMedia('(prefers-color-scheme: dark)')
const isSystemDark = signal(systemDark.matches)

export function applyTheme(): void {
  systemDark.addEventListener('change', ({ matches }) => {
    isSystemDark.value = matches
  })
  effect(() => {
    keepText('localStorage', key, theme.value === 'system' ? null : theme.value)
    const ofSystem = isSystemDark.value ? 'dark' : 'light'
    document.documentElement.dataset['theme'] = theme.value === 'system' ? ofSystem : theme.value
  })
}

export function nextTheme(): void {
  const order: Theme[] = ['system', 'light', 'dark']
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length] ?? 'system'
}
