import { effect, signal } from '@preact/signals'

/** Light or dark: as the system has it, until somebody chooses. */
export type Theme = 'system' | 'light' | 'dark'

const key = 'theme'

function stored(): Theme {
  const value = localStorage.getItem(key)
  return value === 'light' || value === 'dark' ? value : 'system'
}

export const theme = signal<Theme>(stored())

export function applyTheme(): void {
  effect(() => {
    if (theme.value === 'system') localStorage.removeItem(key)
    else localStorage.setItem(key, theme.value)
    document.documentElement.dataset['theme'] = theme.value
  })
}

export function nextTheme(): void {
  const order: Theme[] = ['system', 'light', 'dark']
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length] ?? 'system'
}
