import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { ConfigCheck, Plugin } from '../../base/types.ts'
import { isWithin } from './setting-places.ts'

/** What every part of one form of settings knows, however deep it is. */
interface SettingsForm {
  plugin: Plugin
  /** What is wrong with the value at a pointer; empty: nothing. */
  messageFor(pointer: string): string
  /** Whether something is wrong with it, or within it. */
  isWrong(pointer: string): boolean
}

export function formOf(plugin: Plugin, check: ConfigCheck | undefined): SettingsForm {
  const errors = check?.errors ?? []
  return {
    plugin,
    messageFor: (pointer) =>
      errors
        .filter(({ path }) => path === pointer)
        .map(({ message }) => message)
        .join('; '),
    isWrong: (pointer) => errors.some(({ path }) => isWithin(path, pointer)),
  }
}

export const FormContext = createContext<SettingsForm | undefined>(undefined)

export function useForm(): SettingsForm {
  const form = useContext(FormContext)
  if (form === undefined) throw new Error('A setting stands outside of its form.')
  return form
}
