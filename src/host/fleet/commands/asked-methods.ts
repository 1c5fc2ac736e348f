/** Methods of the lifecycle by which hosts ask each other about a plugin, by the name that goes over the wire. */

export const questions = [
  ...['get', 'connections', 'objects', 'sensors', 'controls', 'controlType'],
  ...['exposures', 'hooks', 'checkConfig'],
] as const
export const commands = [
  ...['toggle', 'configure', 'limit', 'reload', 'checkUpdate', 'update', 'rollback', 'uninstall'],
  ...['setControl', 'setExposed', 'renewHookSecret', 'place', 'install'],
] as const

/** Of these methods so many members before it are always given. */
const alwaysGiven: Readonly<Record<string, number>> = { toggle: 1, checkUpdate: 1, update: 1, rollback: 1 }

/** Whether a member in this place is one that JSON has no word for, if it is null. */
export function mayBeLeftOut(method: string, index: number): boolean {
  return index >= (alwaysGiven[method] ?? Infinity)
}
