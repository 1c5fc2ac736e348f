/**
 * What the browser keeps for these pages: `localStorage` for good, `sessionStorage` for a tab. Where somebody has all cookies
 * blocked, a mere look at either throws: then nothing is kept, and all else works.
 */
type StorageName = 'localStorage' | 'sessionStorage'

export function keptText(storage: StorageName, key: string): string | null {
  try {
    return globalThis[storage].getItem(key)
  } catch {
    return null
  }
}

/** null: it is not kept any more. */
export function keepText(storage: StorageName, key: string, text: string | null): void {
  try {
    if (text === null) globalThis[storage].removeItem(key)
    else globalThis[storage].setItem(key, text)
  } catch {
    // It holds until the page is loaded anew.
  }
}
