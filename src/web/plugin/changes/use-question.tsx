import { useState } from 'preact/hooks'
import type { Plugin } from '../../base/types.ts'
import { ChangeDialog } from './change-dialog.tsx'
import { UninstallDialog } from './uninstall-dialog.tsx'

export type Question = 'update' | 'uninstall'

/** Asks before a plugin is updated or uninstalled. `question`: what is to stand on the page; null: nothing is asked. */
export function useQuestion(plugin: Plugin) {
  const [asked, ask] = useState<Question | undefined>(undefined)
  const { id, name } = plugin
  const onClose = (): void => ask(undefined)
  const questions = {
    update: <ChangeDialog change={{ kind: 'update', id, name }} onClose={onClose} />,
    uninstall: <UninstallDialog plugin={plugin} onClose={onClose} />,
  }
  return { ask, question: asked === undefined ? null : questions[asked] }
}
