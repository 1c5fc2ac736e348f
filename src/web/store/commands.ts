import { signal } from '@preact/signals'
import { pluginApi, send, sendValue } from '../base/api.ts'
import { absenceInWords, placementInWords } from '../base/fleet-words.ts'
import type { Placement, Plugin } from '../base/types.ts'
import { tell, tellFailure } from './notices.ts'
import { putPlugin, removePlugin } from './plugins.ts'

/** What plugins can be told from any page. All say what came of it, and none throws. */

/** Plugins for which a command is under way, with what it does. */
export const busy = signal<ReadonlyMap<string, string>>(new Map())

async function run(id: string, doing: string, command: () => Promise<string>): Promise<boolean> {
  if (busy.peek().has(id)) return false
  busy.value = new Map(busy.peek()).set(id, doing)
  try {
    tell(await command())
    return true
  } catch (error) {
    tellFailure(error)
    return false
  } finally {
    const left = new Map(busy.peek())
    left.delete(id)
    busy.value = left
  }
}

async function command(id: string, path: string, body?: unknown): Promise<Plugin> {
  const plugin = await send<Plugin>('POST', pluginApi(id, path), body)
  putPlugin(plugin)
  return plugin
}

/** What a plugin is up to after a command, in words. */
function outcome({ name, state, enabled, error }: Plugin): string {
  if (state === 'failed') return `${name} could not start: ${error?.message ?? 'the reason is not known'}`
  const absence = absenceInWords({ enabled, error })
  if (absence !== '') return `${name} is on, but no host runs it. ${absence}`
  return state === 'running' ? `${name} is running.` : `${name} is off.`
}

export function toggle(id: string, enabled: boolean): Promise<boolean> {
  return run(id, enabled ? 'Switching on…' : 'Switching off…', async () =>
    outcome(await command(id, '/toggle', { enabled })),
  )
}

export function reload(id: string): Promise<boolean> {
  return run(id, 'Reloading…', async () => outcome(await command(id, '/reload')))
}

export function update(id: string, version: string): Promise<boolean> {
  return run(id, 'Updating…', async () => {
    const plugin = await command(id, '/update', { version })
    if (plugin.version !== version)
      throw new Error(
        `Version ${version} did not start, so ${plugin.name} is back at ${plugin.version}. ${plugin.failedUpdate?.message ?? 'Its history and its log say why.'}`,
      )
    return `${plugin.name} is at version ${plugin.version}. ${outcome(plugin)}`
  })
}

/** Without a version: to the one before. */
export function rollback(id: string, version?: string): Promise<boolean> {
  return run(id, 'Going back…', async () => {
    const plugin = await command(id, '/rollback', version === undefined ? {} : { version })
    return `${plugin.name} is back at version ${plugin.version}, with the settings it had.`
  })
}

/** Throws what the host refused. */
export async function changePlacement(id: string, placement: Placement): Promise<void> {
  const plugin = await send<Plugin>('PUT', pluginApi(id, '/placement'), placement)
  putPlugin(plugin)
  tell(`${plugin.name} may run ${placementInWords(plugin.placement)}.`)
}

/**
 * Sets a control, or a feature of something exposed, by its path below the plugin. Answers whether it was taken; undefined:
 * another value was set meanwhile, and it is that one's affair. `everyOne`: each counts.
 */
export async function setValue(
  id: string,
  path: string,
  value: unknown,
  { everyOne = false } = {},
): Promise<boolean | undefined> {
  try {
    return (await sendValue(pluginApi(id, path), value, everyOne)) ? true : undefined
  } catch (error) {
    tellFailure(error)
    return false
  }
}

export function renewHookSecret(id: string): Promise<boolean> {
  return run(id, 'Renewing its addresses…', async () => {
    const { name } = await command(id, '/hook-secret')
    return `The old addresses of ${name} are gone. Tell the new ones to whoever is to call it.`
  })
}

/** `version`: the one that was looked at; the repository may have another one by now. */
export function install(fullId: string, repository: string, version: string): Promise<boolean> {
  return run(fullId, 'Installing…', async () => {
    const plugin = await send<Plugin>('POST', '/api/plugins/install', { fullId, repository, version })
    putPlugin(plugin)
    return `${plugin.name} ${plugin.version} is installed. It is off until you switch it on.`
  })
}

export function uninstall(id: string, purge: readonly string[]): Promise<boolean> {
  return run(id, 'Uninstalling…', async () => {
    const query = purge.length === 0 ? '' : `?purge=${purge.join(',')}`
    await send('DELETE', pluginApi(id, query))
    removePlugin(id)
    return `${id} is uninstalled.`
  })
}
