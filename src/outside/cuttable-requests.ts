import { getOrInsert } from '../base/get-or-insert.ts'

/** Requests of plugins that another host may take over: from then on none begins, and those under way are cut. */
export interface CuttableRequests {
  /** `refused`: what is answered instead, where the plugin may not act. */
  run<T>(
    plugin: string,
    signal: AbortSignal,
    refused: () => T,
    task: (signal: AbortSignal) => Promise<T>,
  ): Promise<T>
  cut(plugin: string): void
}

/** `mayAct` absent: there is nobody who could take one over. */
export function createCuttableRequests(mayAct: ((plugin: string) => boolean) | undefined): CuttableRequests {
  if (mayAct === undefined)
    return { run: (_plugin, signal, _refused, task) => task(signal), cut: () => undefined }
  const underWay = new Map<string, Set<AbortController>>()
  return {
    async run(plugin, signal, refused, task) {
      if (!mayAct(plugin)) return refused()
      const controller = new AbortController()
      const ofPlugin = getOrInsert(underWay, plugin, () => new Set()).add(controller)
      const end = (): void => controller.abort(signal.reason)
      signal.addEventListener('abort', end)
      if (signal.aborted) end()
      try {
        return await task(controller.signal)
      } finally {
        signal.removeEventListener('abort', end)
        ofPlugin.delete(controller)
        if (ofPlugin.size === 0 && underWay.get(plugin) === ofPlugin) underWay.delete(plugin)
      }
    },
    cut(plugin) {
      for (const controller of underWay.get(plugin) ?? []) controller.abort()
    },
  }
}
