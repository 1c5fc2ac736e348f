/** The part of the package that the host uses; it ships no types of its own. */
declare module 'fs-native-extensions' {
  /** Takes an exclusive lock on an open file without waiting. False: somebody else has it. */
  export function tryLock(fileDescriptor: number): boolean
}
