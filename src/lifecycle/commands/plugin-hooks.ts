import { getOrInsert } from '../../base/get-or-insert.ts'
import { createSecretCheck } from '../../base/keys/secret-check.ts'
import { Problem } from '../../base/problem.ts'
import { decide } from '../../journal/fold/decide.ts'
import type { PluginFact } from '../../schema/journal/journal-event.ts'
import type { PluginState } from '../../schema/plugin/plugin.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { FoundHook, Lifecycle } from '../lifecycle.ts'
import type { PluginQueries } from '../queries/plugin-queries.ts'
import { createHookSecret, hookAddress } from '../running/hook-addresses.ts'
import type { HookRegistry, RegisteredHook } from '../running/hook-registry.ts'
import type { CommandRunner } from './command-runner.ts'

/** The addresses at which plugins are asked from outside. */
export interface PluginHooks extends Pick<Lifecycle, 'hooks' | 'findHook' | 'renewHookSecret'> {
  /** The secret part of a plugin's addresses; made when it has none, and on disk when this resolves. */
  secret(id: string): Promise<string>
}

/** States of a plugin that is switched on in which it runs, or is about to. */
const runsSoon: ReadonlySet<PluginState> = new Set(['loading', 'running', 'unloading', 'unloaded'])

export function createPluginHooks(
  context: LifecycleContext,
  parts: Pick<PluginQueries, 'get'> & { commands: CommandRunner; hooks: HookRegistry; hookBase(): string },
): PluginHooks {
  const { journal, effects } = context
  const { get, commands, hooks, hookBase } = parts
  const present = (id: string): string | undefined => snapshotOfPlugin(context, id).context.hookSecret
  const making = new Map<string, Promise<unknown>>()

  async function make(plugin: string): Promise<void> {
    const data = { hookSecret: createHookSecret(), keepsRevision: true } as const
    const fact: PluginFact = { type: 'PluginHookSecretChanged', plugin, data }
    await journal.append([fact], 'supervisor')
  }

  /** Of an address with a secret part: whether that is the plugin's. */
  function isSecret(id: string, given: string): boolean {
    const secret = present(id)
    return secret !== undefined && createSecretCheck(secret)(given)
  }

  /** Throws `hook_unavailable` for a plugin that is to have handlers in a moment: who sends takes "not found" for good. */
  function requireNoLoad(id: string): void {
    const snapshot = snapshotOfPlugin(context, id)
    if (!snapshot.context.enabled || !runsSoon.has(snapshot.value) || effects.isSettled(id)) return
    throw new Problem('hook_unavailable', 'The plugin is being loaded; try again in a moment.', {
      retryAfter: 1,
    })
  }

  const foundHook = (plugin: string, { handler, auth, methods }: RegisteredHook): FoundHook => ({
    ...{ plugin, auth, methods },
    take: (request, signal) => effects.takeHook(plugin, handler, request, signal),
  })

  return {
    async secret(id) {
      if (present(id) === undefined)
        await getOrInsert(making, id, () => make(id).finally(() => making.delete(id)))
      const secret = present(id)
      if (secret === undefined) throw new Error(`${id} is not installed`)
      return secret
    },
    hooks(id) {
      get(id)
      const secret = present(id)
      return hooks
        .all(id)
        .filter(({ auth }) => auth !== 'secret' || secret !== undefined)
        .map((hook) => ({
          path: hook.path,
          url: hookAddress(hookBase(), id, hook, secret ?? '').url,
          auth: hook.auth,
          methods: hook.methods ?? null,
        }))
    },
    findHook(namespace, shortId, rest) {
      const id = `@${namespace}/${shortId}`
      const open = hooks.find(id, rest)
      if (open !== undefined && open.auth !== 'secret') return foundHook(id, open)
      const [given = '', ...path] = rest.split('/')
      const guarded = hooks.find(id, path.join('/'))
      if (guarded?.auth === 'secret' && isSecret(id, given)) return foundHook(id, guarded)
      if (open === undefined && guarded === undefined) requireNoLoad(id)
      return undefined
    },
    renewHookSecret: (id, by) =>
      commands.run(
        by,
        id,
        async () => {
          const command = { type: 'changeHookSecret', hookSecret: createHookSecret() } as const
          await journal.append(decide(snapshotOfPlugin(context, id), command), by.by, by.requestKey)
        },
        () => get(id),
        { name: 'new hook secret', ends: 'fetch of a load' },
      ),
  }
}
