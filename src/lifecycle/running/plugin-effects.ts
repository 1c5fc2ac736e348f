import type { Json } from '../../base/text/json.ts'
import { Problem } from '../../base/problem.ts'
import { createRedactor } from '../../base/log/redaction.ts'
import type { InstalledFiles } from '../../repository/repository.ts'
import { type Isolate, IsolateError, type Sandbox } from '../../sandbox/isolate.ts'
import type { HookOutcome, HookRequest } from '../../schema/outside/hook.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import type { Config, LogEntry, PluginError, Resources } from '../../schema/plugin/plugin.ts'
import { noResources } from '../../schema/plugin/plugin.ts'
import type { ChosenLimits, PluginLimits } from '../../schema/plugin/plugin-limits.ts'
import { createFanOut } from './fan-out.ts'
import { createGuard } from '../permissions/guard.ts'
import { createRefusals, type RefusalCount } from '../permissions/refusals.ts'
import type { LoadedPlugin } from './loaded-plugin.ts'
import { createPluginServices, type PluginServicesSettings } from './plugin-services.ts'

/** Loads and unloads: what a plugin's facts cause outside the journal. It decides nothing. */
export interface PluginEffects {
  /**
   * Runs the load steps, until `signal` ends them; what is loaded of the plugin ends before. Rejects with an `IsolateError`; then
   * nothing of the plugin is left.
   */
  load(request: LoadRequest, signal: AbortSignal): Promise<void>
  /**
   * Runs the unload steps to their end, whatever fails on the way. `staysShown`: what it shows of itself is not taken back,
   * because another host runs it next.
   */
  unload(id: string, how?: { staysShown: boolean }): Promise<void>
  /** Nothing that it has under way goes on: another host has it. It is unloaded besides. */
  cut(id: string): void
  isLoaded(id: string): boolean
  /** Whether it is loaded, and not about to end: it has the handlers that it is going to have. */
  isSettled(id: string): boolean
  /** Whether it is loaded, or being loaded, and nothing of it is being taken back. */
  isIntact(id: string): boolean
  /** Adds a line of the host's to the plugin's log. */
  logFor(id: string, level: LogEntry['level'], message: string): void
  resources(id: string): Resources
  /** What kind of worker it runs in; undefined while it is not loaded. */
  isolation(id: string): 'dedicated' | 'shared' | undefined
  /** How often plugins were refused what their manifests do not list. */
  refusals(): RefusalCount[]
  /** What a plugin may take for which its owner has set nothing else. */
  readonly limits: PluginLimits
  setControl(id: string, control: string, value: Json): Promise<Json | undefined>
  setExposed(id: string, exposure: string, feature: string, value: Json): Promise<void>
  /** As `Isolate.takeHook`; of a plugin that is being loaded when it has been loaded. */
  takeHook(id: string, handler: number, request: HookRequest, signal: AbortSignal): Promise<HookOutcome>
}

export interface LoadRequest {
  id: string
  installed: InstalledFiles
  /** Defaults and environment applied. */
  config: Config
  secrets: string[]
  limits: ChosenLimits
  /** The host of the fleet that it runs on, and under which epoch; absent without a fleet. */
  host?: string | undefined
  epoch?: number | undefined
}

/** A plugin that ended without being asked; everything of it has been cleaned up. */
export type CrashListener = (id: string, error: PluginError) => void

export interface PluginEffectsSettings extends PluginServicesSettings {
  sandbox: Sandbox
  onCrash: CrashListener
  /**
   * A plugin has lost its worker through no fault of its own. Called at once; `released` resolves when everything
   * of it has been cleaned up.
   */
  onEvicted(id: string, reason: string, released: Promise<void>): void
}

export function createPluginEffects(settings: PluginEffectsSettings): PluginEffects {
  const { sandbox, root, clock, logger, events, hooks, registry, stores, retained } = settings
  const loaded = new Map<string, LoadedPlugin>()
  const services = createPluginServices(settings, loaded)
  const { logFor } = services
  const refusals = createRefusals()

  /** The host's side of the unload steps, in the specification's order. */
  function release(id: string, plugin: LoadedPlugin): Promise<void> {
    return (plugin.released ??= cleanUp(id, plugin))
  }

  async function cleanUp(id: string, plugin: LoadedPlugin): Promise<void> {
    for (const action of plugin.waiting.splice(0)) action(undefined)
    await services.withdraw(id, plugin)
    await stores.release(id)
    await retained.release(id)
    if (loaded.get(id) === plugin) loaded.delete(id)
  }

  function watch(id: string, plugin: LoadedPlugin, isolate: Isolate): void {
    void isolate.ended.then(async (failure) => {
      const error = plugin.charged ?? failure
      if (error === undefined || plugin.unloading) return
      if (error.code === 'neighbour_ended') {
        logFor(id, 'warn', `The plugin starts again: ${error.message}`)
        settings.onEvicted(id, error.message, release(id, plugin))
        return
      }
      logFor(id, 'error', `The plugin ended by itself: ${error.message}`)
      await release(id, plugin)
      settings.onCrash(id, {
        code: error.code,
        message: error.message,
        at: new Date(clock.now()).toISOString(),
      })
    })
  }

  async function unload(id: string, { staysShown } = { staysShown: false }): Promise<void> {
    const plugin = loaded.get(id)
    if (plugin === undefined) return
    plugin.unloading = true
    plugin.staysShown ||= staysShown
    await endIsolate(id, plugin)
    await release(id, plugin)
  }

  async function endIsolate(id: string, { isolate }: LoadedPlugin): Promise<void> {
    try {
      await isolate?.unload()
    } catch (error) {
      logger.error('An isolate could not be ended in order', { plugin: id, error })
    }
  }

  return {
    async load({ id, installed, config, secrets, limits, host, epoch }, signal) {
      const { manifest, files } = installed
      const { namespace, shortId } = identifierOf(id)
      refusals.forgive(id)
      const redactor = createRedactor(secrets)
      const plugin: LoadedPlugin = {
        isolate: undefined,
        waiting: [],
        subscriptions: new Map(),
        fanOut: createFanOut(id),
        guard: createGuard({
          plugin: id,
          permissions: manifest.permissions,
          config,
          root,
          announces: settings.announces(),
          refused(kind, value, sentence) {
            if (refusals.note(id, kind, value))
              logFor(id, 'warn', redactor.redactMessage(`Refused: ${sentence}`))
          },
        }),
        httpRequests: limits.httpRequests ?? sandbox.limits.httpRequests,
        limits: {
          schedules: limits.schedules ?? sandbox.limits.schedules,
          watchers: limits.watchers ?? sandbox.limits.watchers,
        },
        hasMetRetainedLimit: false,
        charged: undefined,
        unloading: false,
        staysShown: false,
        released: undefined,
      }
      while (loaded.has(id)) {
        logger.warn('A plugin that is loaded is to be loaded: what there is of it ends first', { plugin: id })
        await unload(id, { staysShown: true })
      }
      loaded.set(id, plugin)
      try {
        const isolate = await sandbox.load(
          {
            id,
            shortId,
            namespace,
            name: manifest.name,
            version: manifest.version,
            description: manifest.description ?? null,
            files,
            config,
            secrets,
            limits,
            keyValues: await stores.open(id, (sentence) => logFor(id, 'error', sentence)),
            controls: manifest.exports?.controls ?? [],
            topics: plugin.guard.topics,
            publicHooks: plugin.guard.publicHooks,
            retained: retained.entries(id),
            host,
            epoch,
          },
          services.servicesFor(id, plugin),
          signal,
        )
        plugin.isolate = isolate
        // Somebody may have unloaded it meanwhile, or loaded it once more: nobody would know of this isolate, and end it.
        if (plugin.charged !== undefined || plugin.unloading || loaded.get(id) !== plugin)
          throw plugin.charged ?? new Error('it was unloaded while it was being loaded')
        for (const action of plugin.waiting.splice(0)) action(isolate)
        watch(id, plugin, isolate)
      } catch (error) {
        if (error instanceof IsolateError && !signal.aborted) {
          logFor(
            id,
            'error',
            `The plugin could not be loaded: ${error.message}${error.traceback && `\n${error.traceback}`}`,
          )
        }
        await endIsolate(id, plugin)
        await release(id, plugin)
        throw error
      }
    },
    cut(id) {
      settings.outside.cut(id)
    },
    unload,
    logFor,
    limits: sandbox.limits,
    isLoaded: (id) => loaded.get(id)?.isolate !== undefined,
    isIntact(id) {
      const plugin = loaded.get(id)
      return plugin !== undefined && plugin.released === undefined && plugin.isolate?.ending !== true
    },
    isSettled(id) {
      const plugin = loaded.get(id)
      return plugin?.isolate !== undefined && !plugin.unloading
    },
    isolation: (id) => loaded.get(id)?.isolate?.isolation,
    resources(id) {
      const plugin = loaded.get(id)
      if (plugin?.isolate !== undefined) return plugin.isolate.resources()
      return {
        ...noResources,
        eventSubscriptions: events.count(id),
        mqttSubscriptions: plugin?.subscriptions.size ?? 0,
        httpHandlers: hooks.all(id).length,
        objects: registry.values(id, 'object').size,
        sensors: registry.values(id, 'sensor').size,
        controls: registry.values(id, 'control').size,
      }
    },
    refusals: refusals.counts,
    async setControl(id, control, value) {
      const isolate = loaded.get(id)?.isolate
      if (isolate === undefined)
        throw new Problem('control_unknown', `${id} is not running, so it has no controls.`)
      return isolate.setControl(control, value)
    },
    takeHook(id, handler, request, signal) {
      const plugin = loaded.get(id)
      if (plugin?.isolate !== undefined) return plugin.isolate.takeHook(handler, request, signal)
      return new Promise((resolve) => {
        const give = (): void => resolve({ ok: false, reason: 'ended' })
        const hand = (isolate: Isolate | undefined): void => {
          if (isolate === undefined) give()
          else void isolate.takeHook(handler, request, signal).then(resolve)
        }
        if (plugin === undefined || plugin.released !== undefined) give()
        else plugin.waiting.push(hand)
        signal.addEventListener('abort', give, { once: true })
      })
    },
    async setExposed(id, exposure, feature, value) {
      const isolate = loaded.get(id)?.isolate
      if (isolate === undefined)
        throw new Problem('control_unknown', `${id} is not running, so it exposes nothing.`)
      await isolate.setExposed(exposure, feature, value)
    },
  }
}
