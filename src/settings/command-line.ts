import { parseArgs } from 'node:util'
import { messageOf } from '../base/problem.ts'
import { invalid, definitions, type SettingName, settingNames, SettingsError } from './definitions.ts'
import { type FleetSettings, requireForMember } from './fleet-settings.ts'
import { readSettings, type Settings } from './settings.ts'

/** The command `lupine`, as it is typed. */

/** Commands about `HOST_SECRET_KEY_FILE`, which they need. */
export type SecretCommand = 'secret-key' | 'rotate-key' | 'decrypt'

/** As a file of variables has it that Docker reads, which takes quotes for a part of the value. */
const inQuotes = /^(["']).*\1$/s

const commands = ['start', 'repair', 'token', 'secret-key', 'rotate-key', 'decrypt'] as const

/** Commands for those who publish plugins; they concern no host and no setting. */
export type PublishingCommand =
  | { command: 'keygen'; file: string }
  /** `keyFile`: undefined for minisign's own place. */
  | { command: 'sign'; folder: string; keyFile: string | undefined; hashesOnly: boolean }

/** To take a data directory into a fleet, to make one out of it, and to put back what its store has lost. */
export interface FleetCommand {
  command: 'fleet join' | 'fleet leave' | 'fleet restore'
  membership: FleetSettings & { dataDirectory: string; secretKeyFile: string }
}

export type CommandLine =
  | { command: 'start'; settings: Settings }
  | FleetCommand
  | { command: 'repair' | 'token' | SecretCommand; settings: Settings }
  | PublishingCommand
  | { command: 'help' }
  | { command: 'version' }

/** Reads flags and environment; a flag wins. Throws `SettingsError`. */
export function parseCommandLine(
  commandLine: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): CommandLine {
  const { values, positionals } = readFlags(commandLine)
  if (values.help === true) return { command: 'help' }
  if (values.version === true) return { command: 'version' }
  const [given = 'start', ...rest] = positionals
  if (given === 'keygen' || given === 'sign') return readPublishingCommand(given, rest, values)
  const stray = ['key', 'hashes-only'].find((flag) => values[flag] !== undefined)
  if (stray !== undefined) throw new SettingsError(`--${stray} belongs to "lupine sign"; see lupine --help.`)
  const command = commands.find((name) => name === given)
  if (given !== 'fleet' && (command === undefined || rest.length > 0)) {
    throw new SettingsError(`Unknown command ${JSON.stringify(positionals.join(' '))}; see lupine --help.`)
  }
  const text = (name: SettingName): string | undefined => {
    const { flag, variable, fallback } = definitions[name]
    const value = values[flag] === true ? 'true' : values[flag]
    const given = typeof value === 'string' ? value : environment[variable]
    // A token may be anything, and everybody who has it has it as it is.
    if (name !== 'token' && given !== undefined && inQuotes.test(given)) {
      // It may be a secret: it is not repeated.
      throw new SettingsError(
        `${variable} (--${flag}) has quotes around it, which are part of it here: take them away.`,
      )
    }
    return given ?? fallback
  }
  const settings = readSettings(text, isTerminal)
  if (command === undefined) return readFleetCommand(rest, settings)
  if (command === 'start' && settings.fleet !== undefined) requireForMember(settings)
  const needsKey = command === 'secret-key' || command === 'rotate-key' || command === 'decrypt'
  if (needsKey && settings.secretKeyFile === undefined) {
    throw invalid('secretKeyFile', undefined, 'set for this command')
  }
  if ((command === 'rotate-key' || command === 'decrypt') && settings.fleet !== undefined) {
    throw new SettingsError(
      `"lupine ${command}" changes the data directory of a single host, and HOST_FLEET_URL (--fleet-url) is set: a fleet keeps what ` +
        'it has in its store, with the keys by which it was written, whose lines stay in the key file. "lupine fleet leave" ' +
        'makes a data directory of it.',
    )
  }
  return { command, settings }
}

function readFleetCommand(operands: readonly string[], settings: Settings): FleetCommand {
  const [action, place = '', ...rest] = operands
  const isOfHost = (action === 'join' || action === 'restore') && operands.length === 1
  const isLeaving = action === 'leave' && place !== '' && rest.length === 0
  if (!isOfHost && !isLeaving) {
    throw new SettingsError(
      'The commands are: lupine fleet join, lupine fleet restore, and lupine fleet leave DIRECTORY; see lupine --help.',
    )
  }
  const { fleet, secretKeyFile, dataDirectory } = settings
  if (fleet === undefined) throw invalid('fleetUrl', undefined, 'set for this command')
  if (secretKeyFile === undefined) throw invalid('secretKeyFile', undefined, 'set for this command')
  return isOfHost
    ? { command: `fleet ${action}`, membership: { ...fleet, secretKeyFile, dataDirectory } }
    : { command: 'fleet leave', membership: { ...fleet, secretKeyFile, dataDirectory: place } }
}

function readPublishingCommand(
  command: 'keygen' | 'sign',
  operands: readonly string[],
  { key, 'hashes-only': hashesOnly = false, ...others }: Record<string, unknown>,
): PublishingCommand {
  const [place = '', ...rest] = operands
  const usage = command === 'keygen' ? 'keygen FILE' : 'sign FOLDER [--key FILE] [--hashes-only]'
  const isRight =
    place !== '' &&
    rest.length === 0 &&
    Object.keys(others).length === 0 &&
    key !== '' &&
    (command === 'sign' || (key === undefined && hashesOnly === false))
  if (!isRight) throw new SettingsError(`The command is: lupine ${usage}; see lupine --help.`)
  if (command === 'keygen') return { command, file: place }
  return {
    command,
    folder: place,
    keyFile: typeof key === 'string' ? key : undefined,
    hashesOnly: hashesOnly === true,
  }
}

function readFlags(commandLine: readonly string[]): {
  values: Record<string, unknown>
  positionals: string[]
} {
  try {
    return parseArgs({
      args: [...commandLine],
      options: {
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
        key: { type: 'string' },
        'hashes-only': { type: 'boolean' },
        ...Object.fromEntries(
          settingNames.map((name) => {
            const { flag, isSwitch = false } = definitions[name]
            return [flag, { type: isSwitch ? ('boolean' as const) : ('string' as const) }]
          }),
        ),
      },
      allowPositionals: true,
    })
  } catch (error) {
    throw new SettingsError(`${messageOf(error).split(/\.\s/)[0]?.replace(/\s+/g, ' ')}; see lupine --help.`)
  }
}

/** Text of `lupine --help`. */
export function helpText(): string {
  const rows = settingNames.map((name) => {
    const { flag, variable, fallback, meaning } = definitions[name]
    return {
      left: `--${flag}`,
      middle: variable,
      right: `${meaning}${fallback ? ` (default ${fallback})` : ''}`,
    }
  })
  const width = Math.max(...rows.map(({ left }) => left.length))
  const middleWidth = Math.max(...rows.map(({ middle }) => middle.length))
  return [
    'Usage: lupine [start] [flags]    run the host',
    '       lupine repair [flags]     cut a damaged journal, keeping a copy',
    '       lupine token [--token-file FILE]   make a file with a token for the host (default: .host.token in --data-dir)',
    '       lupine secret-key --secret-key-file FILE   make a key for secrets, or put a new one on top',
    '       lupine rotate-key [flags] encrypt all secrets with the first key of the file',
    '       lupine decrypt [flags]    write all secrets in plain text again',
    '       lupine fleet join [flags]   take the stopped host in --data-dir into a fleet; the directory stays as it is',
    '       lupine fleet leave DIRECTORY [flags]   make a data directory out of a fleet whose hosts are stopped',
    '       lupine fleet restore [flags]   put back what the store of a fleet has lost, from the copy of a stopped host',
    '       lupine keygen FILE        make a key to sign a repository with, and show its public half',
    '       lupine sign FOLDER [--key FILE] [--hashes-only]   fill in the hashes of its index, and sign it',
    '       lupine --help | --version',
    '',
    'Every flag has an environment variable; the flag wins.',
    '',
    ...rows.map(
      ({ left, middle, right }) => `  ${left.padEnd(width)}  ${middle.padEnd(middleWidth)}  ${right}`,
    ),
  ].join('\n')
}
