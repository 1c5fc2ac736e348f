import { getOrInsert } from '../../base/get-or-insert.ts'
import type { HookDeclaration } from '../../schema/outside/hook.ts'

/** Handlers of requests from outside, by plugin (full id) and path. */
export interface HookRegistry {
  /** `handler`: the plugin's own number for it. One of the same path is replaced. */
  set(plugin: string, handler: number, hook: HookDeclaration): void
  remove(plugin: string, handler: number): void
  clear(plugin: string): void
  find(plugin: string, path: string): RegisteredHook | undefined
  /** In the order of their paths. */
  all(plugin: string): HookDeclaration[]
}

export interface RegisteredHook extends HookDeclaration {
  handler: number
}

export function createHookRegistry(): HookRegistry {
  const byPlugin = new Map<string, Map<string, RegisteredHook>>()
  return {
    set(plugin, handler, hook) {
      getOrInsert(byPlugin, plugin, () => new Map()).set(hook.path, { ...hook, handler })
    },
    remove(plugin, handler) {
      const hooks = byPlugin.get(plugin)
      for (const hook of hooks?.values() ?? []) if (hook.handler === handler) hooks?.delete(hook.path)
    },
    clear: (plugin) => void byPlugin.delete(plugin),
    find: (plugin, path) => byPlugin.get(plugin)?.get(path),
    all: (plugin) =>
      [...(byPlugin.get(plugin)?.values() ?? [])]
        .map(({ handler: _handler, ...hook }) => hook)
        .sort((a, b) => (a.path < b.path ? -1 : 1)),
  }
}
