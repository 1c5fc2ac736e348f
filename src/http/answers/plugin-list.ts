import { getOrInsert } from '../../base/get-or-insert.ts'
import { jsonText } from '../../base/text/json.ts'
import type { Plugin } from '../../schema/plugin/plugin.ts'
import type { Answer } from '../route.ts'
import { jsonList } from './json-list.ts'

/** The list of plugins as an answer, of which only what has changed is written as JSON again: pages ask for it all the time. */
export function createPluginList(): (plugins: Plugin[]) => Answer {
  const known = new WeakMap<Plugin, Buffer>()
  let last: { plugins: readonly Plugin[]; json: Buffer } | undefined

  const bytesOf = (plugin: Plugin): Buffer => getOrInsert(known, plugin, () => Buffer.from(jsonText(plugin)))

  return (plugins) => {
    const isSame =
      last?.plugins.length === plugins.length && plugins.every((plugin, at) => plugin === last?.plugins[at])
    if (last === undefined || !isSame) last = { plugins, json: jsonList('plugins', plugins.map(bytesOf)) }
    return { body: { plugins }, json: last.json }
  }
}
