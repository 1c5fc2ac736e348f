import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'
import { appearTime, browserArguments, executable } from './browser.ts'
import { temporaryDirectory } from './temporary-directory.ts'

/** A name of this machine. Over plain HTTP a browser does not take it for secure, as it takes `127.0.0.1`. */
export const plainName = 'lupine.test'

/**
 * One window of a browser, whose pages are its tabs: one can be seen (`bringToFront`), and the others are in the background.
 * In a browser that Playwright itself starts, every page takes itself for the one that can be seen. `preferences`: what somebody
 * has set in the browser.
 */
export async function openWindow(context: TestContext, preferences: object = {}): Promise<BrowserContext> {
  const profile = await temporaryDirectory(context)
  await mkdir(join(profile, 'Default'))
  await writeFile(join(profile, 'Default', 'Preferences'), JSON.stringify(preferences))
  const child = spawn(
    executable,
    [
      ...browserArguments,
      ...['--headless', '--window-size=1280,900', '--remote-debugging-port=0', `--user-data-dir=${profile}`],
      ...[`--host-resolver-rules=MAP ${plainName} 127.0.0.1`, 'about:blank'],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const exited = once(child, 'exit')
  context.after(async () => {
    child.kill()
    await exited
  })
  const browser = await connect(await addressIn(child.stderr))
  context.after(() => browser.close())
  const [tabs] = browser.contexts()
  if (tabs === undefined) throw new Error('the browser has no window')
  tabs.setDefaultTimeout(appearTime)
  return tabs
}

/** On a busy machine that may hang where the first tab is just coming up; whoever asks again finds it there. */
async function connect(address: string): Promise<Browser> {
  const attempt = () => chromium.connectOverCDP(address, { noDefaults: true, timeout: appearTime })
  return attempt().catch(attempt)
}

/** Where the browser takes orders; it says so in its first lines. The others are read, too, or it would wait for that. */
async function addressIn(lines: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    createInterface(lines)
      .on('line', (line) => {
        const address = /^DevTools listening on (ws:.+)$/.exec(line)?.[1]
        if (address !== undefined) resolve(address)
      })
      .on('close', () => reject(new Error('the browser has ended')))
  })
}
