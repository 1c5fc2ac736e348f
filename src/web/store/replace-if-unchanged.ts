import { ApiError, get, pluginApi } from '../base/api.ts'
import type { Plugin } from '../base/types.ts'
import { putPlugin } from './plugins.ts'

/** How often it is tried: the revision of a plugin that crashes again and again moves on each time. */
const mostTries = 5

/**
 * Has the host replace something of a plugin as a whole, if that is still as this page has seen it: what somebody else has
 * changed meanwhile, or while this page was cut off, would be lost. `part`: what is replaced. Throws what the host refused.
 */
export async function replaceIfUnchanged(
  seen: Plugin,
  part: (plugin: Plugin) => unknown,
  replace: (revision: number) => Promise<Plugin>,
): Promise<Plugin> {
  let { revision } = seen
  for (let left = mostTries; ; left -= 1) {
    try {
      return await replace(revision)
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'revision_conflict' || left === 1) throw error
      const present = await get<Plugin>(pluginApi(seen.id))
      putPlugin(present)
      if (JSON.stringify(part(present)) !== JSON.stringify(part(seen))) throw changedElsewhere(seen)
      // Loads and crashes count as well.
      revision = present.revision
    }
  }
}

function changedElsewhere({ name }: Plugin): Error {
  return new Error(
    `This was not saved: ${name} has been changed elsewhere meanwhile. What you typed stands in the form, on top of what is stored now; look at it, and save again.`,
  )
}
