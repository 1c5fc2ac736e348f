import { spawnSync } from 'node:child_process'

/** Locks an open file for this process; the lock goes with the process, whatever ends it. */
export type KernelLock = (fileDescriptor: number) => 'taken' | 'held by another' | 'not available'

/** By the native module. It has binaries for 64-bit Linux with glibc, macOS, Windows and Android. */
export async function nativeLock(): Promise<KernelLock> {
  try {
    const { tryLock } = await import('fs-native-extensions')
    return (fileDescriptor) => (tryLock(fileDescriptor) ? 'taken' : 'held by another')
  } catch {
    return () => 'not available'
  }
}

/**
 * By the program `flock` of util-linux or BusyBox: 32-bit Raspberry Pi OS and Alpine have it. It locks the open file
 * that it inherits, and this process keeps the lock with the file after the program has ended.
 */
export const flockProgram: KernelLock = (fileDescriptor) => {
  const { status } = spawnSync('flock', ['-x', '-n', '3'], {
    stdio: ['ignore', 'ignore', 'ignore', fileDescriptor],
    timeout: flockMs,
  })
  if (status === 0) return 'taken'
  return status === heldByAnother ? 'held by another' : 'not available'
}

/** It never waits for the lock; this is for a machine that is slow to start a program. */
const flockMs = 10_000
/** What `flock -n` exits with when somebody else has the lock. */
const heldByAnother = 1
