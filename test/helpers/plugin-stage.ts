import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Json } from '../../src/base/text/json.ts'
import { openLuaModules } from './lua-modules.ts'

export interface StageEvent {
  name: string
  /** Unix time in seconds. */
  at: number
  data: Record<string, unknown>
}

/** A plugin that lives by the clock, on a stage where the test is the time. */
export interface PluginStage {
  advance(seconds: number): StageEvent[]
  /** The time of day is suddenly another, as after a sleep of the computer, or when it is set. */
  jump(seconds: number): StageEvent[]
  /** The host stands still: what fell due meanwhile is called late, before what came is received. */
  pause(seconds: number): StageEvent[]
  /** The callback that emits next is stopped there, as where the machine has no time for it. */
  stopNext(): void
  /** A message of the broker, to whoever has subscribed to exactly this topic. */
  receive(topic: string, payload: string): StageEvent[]
  object(path: string): unknown
  sensor(id: string): unknown
  setControl(id: string, value: Json): void
}

const stageFile = fileURLToPath(new URL('plugin-stage.lua', import.meta.url))

/** Starts the plugin of a folder at a Unix time in seconds. */
export function startOnStage(folder: string, now: number, config: Record<string, Json>): PluginStage {
  const modules = openLuaModules(folder, { stage: readFileSync(stageFile) })
  modules.call('stage', 'start', now, config)
  const events = (value: unknown): StageEvent[] => (Array.isArray(value) ? (value as StageEvent[]) : [])
  return {
    advance: (seconds) => events(modules.call('stage', 'advance', seconds)[0]),
    jump: (seconds) => events(modules.call('stage', 'jump', seconds)[0]),
    pause: (seconds) => events(modules.call('stage', 'pause', seconds)[0]),
    stopNext: () => void modules.call('stage', 'stopNext'),
    receive: (topic, payload) => events(modules.call('stage', 'receive', topic, payload)[0]),
    object: (path) => modules.call('stage', 'object', path)[0],
    setControl: (id, value) => void modules.call('stage', 'set', id, value),
    sensor: (id) => modules.call('stage', 'read', id)[0],
  }
}
