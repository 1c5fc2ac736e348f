import type { Json } from '../../src/base/text/json.ts'
import { Problem } from '../../src/base/problem.ts'
import type { ExposureView } from '../../src/lifecycle/lifecycle.ts'
import type { Announcement, Lifecycle } from '../../src/lifecycle/lifecycle.ts'
import type { Point } from '../../src/schema/api/api.ts'
import { noResources, type Plugin } from '../../src/schema/plugin/plugin.ts'
import { defaultPluginLimits, shownLimits } from '../../src/schema/plugin/plugin-limits.ts'

export function pluginNamed(id: string, rest: Partial<Plugin> = {}): Plugin {
  const [namespace = '', shortId = ''] = id.slice(1).split('/')
  return {
    id,
    shortId,
    namespace,
    name: shortId,
    version: '1.0.0',
    description: null,
    author: null,
    homepage: null,
    license: null,
    tags: [],
    warnings: [],
    repository: null,
    enabled: true,
    state: 'running',
    error: null,
    crashes: 0,
    restart: null,
    trial: null,
    integrity: { intact: true, changed: [] },
    config: {},
    fields: [],
    exports: {},
    docs: [],
    dependencies: [],
    permissions: null,
    environment: { read: [], refused: [] },
    revision: 1,
    installedAt: '2024-01-01T00:00:00.000Z',
    updatedAt: '2024-01-01T00:00:00.000Z',
    resources: { ...noResources },
    limits: { effective: shownLimits(defaultPluginLimits), set: {} },
    limitsReached: [],
    host: null,
    epoch: null,
    placement: {},
    ...rest,
  }
}

export interface FakePlugin {
  plugin: Plugin
  objects?: Record<string, Json>
  sensors?: Point[]
  controls?: Point[]
  exposures?: ExposureView[]
}

/** Answers like a lifecycle with these plugins, and notes which commands it was given. */
export function createFakeLifecycle(plugins: Map<string, FakePlugin>) {
  const calls: unknown[][] = []
  const listeners = new Set<(announcement: Announcement) => void>()

  function find(id: string): FakePlugin {
    const found = plugins.get(id)
    if (found === undefined) throw new Problem('plugin_not_installed', `${id} is not installed.`)
    return found
  }

  const command =
    (name: string) =>
    async (id: string, ...rest: unknown[]): Promise<Plugin> => {
      calls.push([name, id, ...rest])
      return find(id).plugin
    }

  const lifecycle = {
    lastSeq: 7,
    resolveId(text) {
      const matching = [...plugins.keys()].filter((id) => id === text || id.endsWith(`/${text}`))
      const [id] = matching
      if (id === undefined) throw new Problem('plugin_not_installed', `No plugin ${text}.`)
      return id
    },
    list: () => [...plugins.values()].map(({ plugin }) => plugin),
    get: (id) => find(id).plugin,
    status: (id) => plugins.get(id)?.plugin,
    isIntact: () => true,
    recallRequest: () => undefined,
    async install(request, context) {
      calls.push(['install', request, context])
      return pluginNamed(request.fullId, { state: 'installed', enabled: false })
    },
    toggle: command('toggle'),
    configure: command('configure'),
    reload: command('reload'),
    update: command('update'),
    async uninstall(id, purge, context) {
      calls.push(['uninstall', id, purge, context])
      return { id, state: 'uninstalled' }
    },
    objects: (id) => find(id).objects ?? {},
    sensors: (id) => find(id).sensors ?? [],
    controls: (id) => find(id).controls ?? [],
    controlType: (id, control) => find(id).controls?.find((point) => point.id === control)?.type,
    async setControl(id, control, value) {
      calls.push(['setControl', id, control, value])
      return { id: control, value }
    },
    exposures: (id) => find(id).exposures ?? [],
    async setExposed(id, exposure, feature, value) {
      calls.push(['setExposed', id, exposure, feature, value])
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  } satisfies Partial<Lifecycle>

  return {
    lifecycle: lifecycle as unknown as Lifecycle,
    calls,
    announce(announcement: Announcement): void {
      for (const listener of listeners) listener(announcement)
    },
    listeners,
  }
}
