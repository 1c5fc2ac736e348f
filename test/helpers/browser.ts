import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { TestContext } from 'node:test'
import { type Browser, chromium, type Page } from 'playwright-core'
import { until } from './until.ts'

/** A real browser for the tests of the pages. */

export const executable = '/usr/bin/chromium'

/** Why the tests with a browser are skipped, or false. */
export const browserMissing = existsSync(executable)
  ? false
  : `there is no browser at ${executable} (Debian: apt-get install chromium)`

/** Longest wait for something to appear, in milliseconds; generous, as machines are slow at times. */
export const appearTime = 20_000

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** WCAG 2.2, levels A and AA. */
const accessibilityRules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa']

export const browserArguments = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: executable,
    args: browserArguments,
    // With it a page may change its address as often as it likes, as with nobody's browser.
    ignoreDefaultArgs: ['--disable-ipc-flooding-protection'],
  })
}

export interface View {
  theme: 'light' | 'dark'
  /** In pixels. */
  width: number
  reducedMotion?: boolean
  locale?: string
}

export interface WatchedPage {
  page: Page
  /** What went wrong in the page: exceptions, refused requests, breaches of its content security policy. */
  faults: string[]
  /** Addresses on other hosts that were asked for. */
  elsewhere: string[]
}

/** A page that is watched for whatever should not happen; closed after the test. */
export async function openPage(
  context: Pick<TestContext, 'after'>,
  browser: Browser,
  baseURL: string,
  { theme, width, reducedMotion = false, locale = 'en-GB' }: View,
): Promise<WatchedPage> {
  const browsing = await browser.newContext({
    baseURL,
    colorScheme: theme,
    viewport: { width, height: width < 600 ? 844 : 900 },
    reducedMotion: reducedMotion ? 'reduce' : 'no-preference',
    locale,
  })
  context.after(() => browsing.close())
  browsing.setDefaultTimeout(appearTime)
  const page = await browsing.newPage()
  const faults: string[] = []
  const elsewhere: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text())
  })
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(baseURL) && !url.startsWith('data:')) elsewhere.push(url)
  })
  return { page, faults, elsewhere }
}

/** As if the system's theme changed. Resolves when the page has taken it up. */
export async function showTheme(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme })
  await until(`the ${colorScheme} theme`, async () => {
    const color = await page.evaluate<string>('getComputedStyle(document.body).color')
    const brightness = (color.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, part) => sum + Number(part), 0)
    return brightness > (3 * 255) / 2 === (colorScheme === 'dark')
  })
}

/** Throws when somebody would be kept from using the page as it is now. */
export async function assertAccessible(page: Page, where: string): Promise<void> {
  // A change of the theme shows two frames later.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  await page.evaluate(`${axe};0`)
  const violations = await page.evaluate<string[]>(
    `axe.run({ runOnly: ${JSON.stringify(accessibilityRules)} }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => [id, html, failureSummary].join('\\n'))))`,
  )
  assert.deepEqual(violations, [], where)
}

/** Throws when the page is wider than the screen. */
export async function assertFitsWidth(page: Page, where: string): Promise<void> {
  const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  assert.ok(excess <= 0, `${where} is ${excess} pixels wider than the screen`)
}
