import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from './base/time/clock.ts'
import { systemFileSystem } from './base/files/file-system.ts'
import { storageFault } from './base/files/storage-fault.ts'
import { UnusableFileError } from './base/files/unusable-file.ts'
import { createLogger } from './base/log/log.ts'
import { messageOf, Problem, systemErrorCode } from './base/problem.ts'
import { shrinkHeap } from './base/memory/shrink-heap.ts'
import { createHost, type Host } from './host/host.ts'
import { StartInterrupted } from './host/interrupted-start.ts'
import { StartError } from './host/start-conditions.ts'
import { watchStop } from './host/stuck-stop.ts'
import { warnOfUnknownTimeZone } from './host/time-zone.ts'
import { openJournal } from './journal/journal.ts'
import { lockDirectory } from './journal/lock/lock.ts'
import { beginAnew, repairJournal } from './journal/repair/repair.ts'
import { knownEnd, LostJournalError } from './journal/snapshot/known-end.ts'
import { readSnapshot } from './journal/snapshot/snapshot.ts'
import type { Vault } from './journal/vault.ts'
import { makeSecretKey, readKeys, rewriteDirectory, vaultOf } from './maintenance/secret-commands.ts'
import { makeTokenFile } from './maintenance/token-file.ts'
import { makeSigningKey, signRepository } from './maintenance/publishing.ts'
import { type Owner, ownerOfDirectory, ownerOfState } from './maintenance/directory-owner.ts'
import {
  type FleetCommand,
  helpText,
  parseCommandLine,
  type PublishingCommand,
  type SecretCommand,
} from './settings/command-line.ts'
import { SettingsError } from './settings/definitions.ts'
import type { Settings } from './settings/settings.ts'

/** The command `lupine`: the only file that touches the process itself. */

const programDirectory = dirname(dirname(fileURLToPath(import.meta.url)))
const { version: hostVersion } = JSON.parse(readFileSync(join(programDirectory, 'package.json'), 'utf8')) as {
  version: string
}

const exitCode = { ok: 0, failed: 1, usage: 2 } as const

const signals = ['SIGINT', 'SIGTERM'] as const
/** As shells count: 128 and the number of the signal. */
const codesOfSignals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

function fail(message: string, code: number): never {
  process.stderr.write(`lupine: ${message}\n`)
  process.exit(code)
}

async function start(settings: Settings): Promise<void> {
  const logger = createLogger({ level: settings.logLevel, format: settings.logFormat })
  process.once('exit', logger.flush)
  warnOfUnknownTimeZone(process.env, logger)
  const interrupt = new AbortController()
  const life: { stopping: boolean; host: Host | undefined } = { stopping: false, host: undefined }
  const end = async (host: Host): Promise<void> => {
    try {
      await host.close()
      logger.info('stopped')
      process.exit(exitCode.ok)
    } catch (error) {
      logger.error('The host did not stop in order', { error: messageOf(error) })
      process.exit(exitCode.failed)
    }
  }
  const killWhenStuck = (host: Host | undefined): void =>
    watchStop(systemClock, host?.lifecycle, () => {
      logger.error('The host does not stop, and is killed: what was acknowledged is on disk')
      logger.flush()
      // An exit would wait for threads, which may be what is stuck.
      process.kill(process.pid, 'SIGKILL')
    })
  const stop = (signal: NodeJS.Signals): void => {
    life.stopping = true
    logger.info('stopping', { signal })
    killWhenStuck(life.host)
    // During the start, whatever is being loaded is ended.
    interrupt.abort()
    if (life.host !== undefined) void end(life.host)
  }
  for (const signal of signals)
    process.on(signal, () => {
      if (life.stopping) process.exit(exitCode.failed)
      stop(signal)
    })
  // Whoever started it is gone: its terminal, which may say so more than once, or the shell of npm. Nobody is in a hurry.
  process.on('SIGHUP', (signal) => {
    if (!life.stopping) stop(signal)
  })
  try {
    life.host = await createHost({
      ...{ settings, logger, programDirectory, hostVersion },
      environment: process.env,
      interrupt: interrupt.signal,
    })
  } catch (error) {
    if (!(error instanceof StartInterrupted)) throw error
    logger.info('stopped')
    process.exit(exitCode.ok)
  }
  if (life.stopping) await end(life.host)
  const { host } = life
  void host.failed.then(async (error) => {
    logger.error('The host ends: it cannot work in its fleet any more', { error: error.message })
    killWhenStuck(host)
    await host.close().catch(() => undefined)
    fail(error.message, exitCode.failed)
  })
  // Hundreds of plugins that were loaded at once have left room that is not needed any more.
  await shrinkHeap().catch((error: unknown) =>
    logger.debug('Memory of the start could not be given back', { error: messageOf(error) }),
  )
}

/**
 * What root writes for the host of another user would be root's, and that host could not read it any more. Answers whether this
 * process has become that user.
 */
function actAs({ uid, gid }: Owner, directory: string): boolean {
  if (process.getuid?.() !== 0 || uid === 0) return false
  try {
    // Key and state are their owner's alone, so no other group of that user is needed.
    process.setgroups?.([gid])
    process.setgid?.(gid)
    process.setuid?.(uid)
    return true
  } catch (error) {
    const reason = systemErrorCode(error) ?? messageOf(error)
    fail(
      `The host in ${directory} is of the user ${uid}: run this as that user (${reason}).`,
      exitCode.failed,
    )
  }
}

/** Holds the directory meanwhile: nothing offline may be done beside a running host. */
async function whileStopped<T>(settings: Settings, task: (directory: string) => Promise<T>): Promise<T> {
  const directory = resolve(settings.dataDirectory)
  const owner = await ownerOfState(systemFileSystem, directory)
  if (owner !== undefined) actAs(owner, directory)
  const lock = await lockDirectory(directory).catch((error: unknown) =>
    fail(
      error instanceof UnusableFileError
        ? error.message
        : `${directory} cannot be used as a data directory (${systemErrorCode(error) ?? messageOf(error)}): ` +
            (storageFault(error) ?? 'correct HOST_DATA_DIR (--data-dir), or its permissions.'),
      exitCode.failed,
    ),
  )
  if (lock === undefined) fail(`A host is running in ${directory}; stop it first.`, exitCode.failed)
  try {
    return await task(directory)
  } finally {
    await lock.release({ withFile: false })
  }
}

/**
 * Writes to standard output. Where that takes nothing (a full disk, a reader that is gone), `rest` ends the sentence about it on
 * standard error.
 */
function say(text: string, rest = '.'): void {
  process.stdout.once('error', (error) => {
    fail(
      `Standard output cannot be written (${systemErrorCode(error) ?? messageOf(error)})${rest}`,
      exitCode.failed,
    )
  })
  process.stdout.write(text)
}

/** A command that is ended half-way leaves half a file: it comes to its end first, unless it is told twice. */
function finishBeforeSignals(): void {
  const finishFirst = (signal: 'SIGINT' | 'SIGTERM'): void => {
    // The next one does what it does to any program: a disk that does not answer keeps an exit waiting.
    for (const name of signals) process.off(name, finishFirst)
    process.exitCode = codesOfSignals[signal]
    process.stderr.write(
      `lupine: ${signal}: what has begun is finished first, so that no file is left half written; a second signal ends it at once.\n`,
    )
  }
  for (const signal of signals) process.on(signal, finishFirst)
  // A terminal that is closed, or the shell of npm that has ended: nobody is there to be told, or in a hurry.
  process.on('SIGHUP', () => {
    process.exitCode ??= codesOfSignals.SIGHUP
  })
  // Ctrl-C ends who reads this as well, such as tee.
  process.stderr.on('error', () => undefined)
}

/** Writes what a command answers. What stops it is one line, too. */
async function tell(answer: () => Promise<string>, wordsFor = messageOf): Promise<void> {
  try {
    const text = await answer()
    // Nobody could ask for it again: it has been done.
    say(text, `; this was to stand there:\n${text.trimEnd()}`)
  } catch (error) {
    fail(wordsFor(error), exitCode.failed)
  }
}

const withAdvice = (error: unknown): string => storageFault(error) ?? messageOf(error)

async function runRepair(settings: Settings): Promise<string> {
  const vault = await vaultOf(settings.secretKeyFile)
  return whileStopped(settings, (directory) => repair(vault, directory))
}

async function repair(vault: Vault, directory: string): Promise<string> {
  const logger = createLogger({ level: 'warn', format: 'pretty' })
  process.once('exit', logger.flush)
  const files = systemFileSystem
  const file = await readSnapshot(files, directory)
  const end = await knownEnd(files, directory, file).catch(async (error: unknown) => {
    if (!(error instanceof LostJournalError) || error.spare === undefined) throw error
    await beginAnew(files, directory, error.spare)
    return undefined
  })
  if (end === undefined) {
    return 'The journal is gone. Made .host.json of .host.checkpoint: the next start begins a history with those settings.\n'
  }
  const { spare, ...known } = end
  const check = async (): Promise<void> => {
    const journal = await openJournal({
      ...{ directory, files, clock: systemClock, logger, ...known, vault, whole: true },
    })
    await journal.close()
  }
  const repairs = await repairJournal(directory, files, systemClock.now(), file, check, spare)
  if (repairs.length === 0) return 'The journal is whole; nothing was changed.\n'
  return repairs
    .map(({ path, line, offset, cut, copies }) => {
      const place = `line ${line} (byte ${offset})`
      return cut
        ? `Cut the journal before ${place}. The file as it was: ${copies.join()}\n`
        : `Put ${path}, which is damaged at ${place}, and those before it aside: ${copies.join(', ')}. ` +
            'No state is lost; the history begins with the next file.\n'
    })
    .join('')
}

/** In the data directory of another user's host the token is that user's: the host could not read it otherwise. */
async function makeToken(settings: Settings): Promise<string> {
  const directory = resolve(settings.dataDirectory)
  const owner =
    settings.tokenFile === undefined ? await ownerOfDirectory(systemFileSystem, directory) : undefined
  const isOther = owner !== undefined && actAs(owner, directory)
  return makeTokenFile(systemFileSystem, settings, isOther ? `the user ${owner.uid}` : undefined)
}

async function runSecretCommand(command: SecretCommand, settings: Settings): Promise<string> {
  const { secretKeyFile = '', dataDirectory } = settings
  if (command === 'secret-key') return makeSecretKey(secretKeyFile)
  const purpose = command === 'rotate-key' ? 'rotate' : 'decrypt'
  // As who runs the command: the file may be root's alone, of which the host is given a copy (LoadCredential of systemd).
  const ring = await readKeys(secretKeyFile)
  return whileStopped(settings, () => rewriteDirectory(dataDirectory, ring, purpose))
}

async function runFleetCommand({ command, membership }: FleetCommand): Promise<string> {
  // No other command needs the store's client.
  const { joinCommand, leaveCommand, restoreCommand } = await import('./maintenance/fleet/commands.ts')
  const carryOut = { 'fleet join': joinCommand, 'fleet leave': leaveCommand, 'fleet restore': restoreCommand }
  const { text, isComplete } = await carryOut[command](membership)
  // Who runs it from a script does not read what was left out.
  if (!isComplete) process.exitCode = exitCode.failed
  return text
}

async function runPublishingCommand(line: PublishingCommand): Promise<string> {
  return line.command === 'keygen'
    ? makeSigningKey(systemFileSystem, line.file)
    : signRepository({ ...line, files: systemFileSystem, clock: systemClock })
}

try {
  const line = parseCommandLine(process.argv.slice(2), process.env, process.stdout.isTTY)
  const isPublishing = line.command === 'keygen' || line.command === 'sign'
  // Whatever the host writes is its owner's alone; what is published is for others to read.
  if (!isPublishing) process.umask(0o077)
  if (line.command !== 'start' && !('membership' in line)) finishBeforeSignals()
  if (line.command === 'help') say(`${helpText()}\n`)
  else if (line.command === 'version') say(`${hostVersion}\n`)
  else if (isPublishing) await tell(() => runPublishingCommand(line))
  else if (line.command === 'start') await start(line.settings)
  else if ('membership' in line) await tell(() => runFleetCommand(line), withAdvice)
  else {
    const { command, settings } = line
    if (command === 'token') await tell(() => makeToken(settings))
    else if (command === 'repair') await tell(() => runRepair(settings), withAdvice)
    else await tell(() => runSecretCommand(command, settings), withAdvice)
  }
} catch (error) {
  if (error instanceof SettingsError) fail(error.message, exitCode.usage)
  // A full disk, say: its message tells what to do.
  if (error instanceof StartError || error instanceof Problem) fail(error.message, exitCode.failed)
  fail(error instanceof Error ? (error.stack ?? error.message) : String(error), exitCode.failed)
}
