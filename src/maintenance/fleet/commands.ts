import { resolve } from 'node:path'
import { systemClock } from '../../base/time/clock.ts'
import { systemFileSystem } from '../../base/files/file-system.ts'
import { connectStore } from '../../fleet/store/connect-store.ts'
import type { StoreLogin } from '../../fleet/store/store-login.ts'
import { readKeys } from '../secret-commands.ts'
import { joinFleet } from './join-fleet.ts'
import { leaveFleet } from './leave-fleet.ts'
import { restoreEnd } from './restore-end.ts'

/** What to tell whoever ran the command; `isComplete`: nothing was left out. */
export interface CommandOutcome {
  text: string
  isComplete: boolean
}

/** `lupine fleet join`, `lupine fleet leave` and `lupine fleet restore`. */

export interface FleetCommandSettings extends StoreLogin {
  fleet: string
  dataDirectory: string
  secretKeyFile: string
}

async function connected<T>(
  settings: FleetCommandSettings,
  task: (parts: Parameters<typeof joinFleet>[0]) => Promise<T>,
): Promise<T> {
  const ring = await readKeys(settings.secretKeyFile)
  const connection = await connectStore({ ...settings, name: 'lupine fleet' })
  try {
    const directory = resolve(settings.dataDirectory)
    const { fleet } = settings
    return await task({ connection, fleet, directory, ring, files: systemFileSystem, clock: systemClock })
  } finally {
    await connection.close()
  }
}

const count = (plugins: readonly string[]): string =>
  `${plugins.length} plugin${plugins.length === 1 ? '' : 's'}`

export async function joinCommand(settings: FleetCommandSettings): Promise<CommandOutcome> {
  const { as, plugins, refused, withoutFiles } = await connected(settings, joinFleet)
  const done = {
    first: `The fleet ${settings.fleet} begins with the journal of ${settings.dataDirectory}: ${count(plugins)}.`,
    later: `The fleet ${settings.fleet} has taken ${count(plugins)} of ${settings.dataDirectory}.`,
    already: `The fleet ${settings.fleet} goes on from ${settings.dataDirectory} already; nothing was changed.`,
  }[as]
  const text = [
    done,
    ...refused.map(({ what, reason }) => `Not taken: ${what} (${reason}).`),
    ...withoutFiles.map((plugin) => `Without files: ${plugin}; they are fetched when it is loaded.`),
    `${settings.dataDirectory} is as it was. Keep it as a copy; start no host in it while the fleet runs.`,
    '',
  ].join('\n')
  return { text, isComplete: refused.length === 0 }
}

export async function leaveCommand(settings: FleetCommandSettings): Promise<CommandOutcome> {
  const { seq, plugins, values, leftOut } = await connected(settings, leaveFleet)
  const text = [
    `${settings.dataDirectory} holds all of the fleet ${settings.fleet} up to event ${seq}: ${count(plugins)}, stored values of ${values.length}.`,
    ...leftOut.map(({ what, reason }) => `Left out: ${what} (${reason}).`),
    'The fleet is as it was: start no host of it any more once one is started there, so that no plugin runs twice.',
    '',
  ].join('\n')
  return { text, isComplete: leftOut.length === 0 }
}

export async function restoreCommand(settings: FleetCommandSettings): Promise<CommandOutcome> {
  const { before, last, seen, withoutFiles } = await connected(settings, restoreEnd)
  const { fleet, dataDirectory } = settings
  const isComplete = last >= seen
  const text = [
    last === before
      ? `The fleet ${fleet} has all events of the copy of ${dataDirectory}, up to event ${last}; its journal was not changed.`
      : `The fleet ${fleet} has the events ${before + 1} to ${last} again, from the copy of ${dataDirectory}.`,
    ...(isComplete
      ? []
      : [
          `Missing: the events ${last + 1} to ${seen}, which that host has seen by its .host.json and its copy has lost; another host may have them.`,
        ]),
    ...withoutFiles.map(
      (plugin) =>
        `Without files: ${plugin}; neither the store nor the directory has them as they were installed, and another host may.`,
    ),
    ...(last === before && isComplete
      ? []
      : ['Run this with the data directory of each other host, too, and start the hosts then.']),
    '',
  ].join('\n')
  return { text, isComplete }
}
