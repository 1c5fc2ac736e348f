import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** The built program, as `npm start` runs it. */
export const programPath = join(import.meta.dirname, '..', '..', 'dist', 'main.js')

export interface HostProcess {
  http: string
  mqtt: string
  /** The `ready` line. */
  ready: Record<string, unknown>
  process: ChildProcess
  /** Everything it has written so far. */
  output(): string
  /** Sends a signal and waits for the end; answers the exit code, or null when the signal ended it. */
  stop(signal: NodeJS.Signals): Promise<number | null>
}

/** Runs the command, or another `script`, `within` another program, without waiting for `ready`; resolves with exit code and output when it ends. */
export async function runProgram(
  flags: readonly string[],
  environment: Record<string, string> = {},
  within: readonly string[] = [],
  script = programPath,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const [program = '', ...line] = [...within, process.execPath, script, ...flags]
  const child = spawn(program, line, {
    env: { PATH: process.env.PATH ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const text = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    text.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    text.stderr += chunk
  })
  const [code] = await once(child, 'close')
  return { code, ...text }
}

export interface LaunchedProcess {
  process: ChildProcess
  /** The `ready` line; rejects when the process ends before. */
  ready: Promise<Record<string, unknown>>
  /** The first line of its log with these words. Never, when it does not say them. */
  said(words: string): Promise<Record<string, unknown>>
  output(): string
  /** Sends a signal and waits for the end; answers the exit code, or null when the signal ended it. */
  stop(signal: NodeJS.Signals): Promise<number | null>
}

interface ProcessOptions {
  flags?: readonly string[]
  environment?: Record<string, string>
  /** A program that starts it, with its arguments: `prlimit`, for instance. */
  within?: readonly string[]
}

/** Starts a host in a process of its own, on free ports. */
export function launchHostProcess(directory: string, options: ProcessOptions = {}): LaunchedProcess {
  const flags = ['--data-dir', directory, '--http-port', '0', '--mqtt-port', '0', '--log-format', 'json']
  const line = [...(options.within ?? []), process.execPath, programPath, ...flags, ...(options.flags ?? [])]
  const child = spawn(line[0] ?? '', line.slice(1), {
    env: { PATH: process.env.PATH ?? '', ...options.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  const lines: Record<string, unknown>[] = []
  const listeners: ((line: Record<string, unknown>) => void)[] = []
  const said = (words: string): Promise<Record<string, unknown>> =>
    new Promise((resolve) => {
      const listener = (line: Record<string, unknown>): void => {
        if (String(line.msg).includes(words)) resolve(line)
      }
      lines.forEach(listener)
      listeners.push(listener)
    })
  const ready = new Promise<Record<string, unknown>>((resolve, reject) => {
    child.once('exit', (code) =>
      reject(new Error(`The host ended with ${code} before it was ready:\n${output}`)),
    )
    createInterface({ input: child.stdout }).on('line', (line) => {
      output += `${line}\n`
      if (!line.startsWith('{')) return
      const parsed: Record<string, unknown> = JSON.parse(line)
      if (parsed.msg === 'ready') resolve(parsed)
      lines.push(parsed)
      for (const listener of listeners) listener(parsed)
    })
  })
  // Whoever does not wait for it, does not want to hear of it.
  ready.catch(() => undefined)
  return {
    process: child,
    ready,
    said,
    output: () => output,
    async stop(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      const exited = once(child, 'exit')
      child.kill(signal)
      const [code] = await exited
      return code
    },
  }
}

/** Starts a host in a process of its own, on free ports, and waits until it is ready. */
export async function startHostProcess(
  directory: string,
  options: ProcessOptions = {},
): Promise<HostProcess> {
  const { ready: waiting, ...launched } = launchHostProcess(directory, options)
  const ready = await waiting
  return { ...launched, ready, http: String(ready.http), mqtt: String(ready.mqtt) }
}
