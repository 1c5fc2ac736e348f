import { jsonText } from '../../base/text/json.ts'
import type { Plugin } from '../../schema/plugin/plugin.ts'
import type { Answer } from '../route.ts'

/** The list of plugins as an answer, of which only what has changed is written as JSON again: pages ask for it all the time. */
export function createPluginList(): (plugins: Plugin[]) => Answer {
  const texts = new WeakMap<Plugin, string>()
  let last: { plugins: readonly Plugin[]; json: Buffer } | undefined

  function textOf(plugin: Plugin): string {
    const known = texts.get(plugin)
    if (known !== undefined) return known
    const text = jsonText(plugin)
    texts.set(plugin, text)
    return text
  }

  return (plugins) => {
    const isSame =
      last?.plugins.length === plugins.length && plugins.every((plugin, at) => plugin === last?.plugins[at])
    if (last === undefined || !isSame)
      last = { plugins, json: Buffer.from(`{"plugins":[${plugins.map(textOf).join(',')}]}`) }
    return { body: { plugins }, json: last.json }
  }
}
