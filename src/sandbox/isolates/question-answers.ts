import { dispatchByKind } from '../../base/dispatch-by-kind.ts'
import { messageOf } from '../../base/problem.ts'
import type { Answer, Question } from '../../schema/worker/question.ts'
import type { Reply } from '../calls/pending-requests.ts'
import type { PluginCalls } from '../calls/plugin-calls.ts'
import type { HostQuestion, IsolateServices } from '../isolate.ts'

export interface QuestionAnswersSettings {
  /** Number of the isolate that asks. */
  isolate: number
  services: IsolateServices
  pluginCalls: PluginCalls
  /** For the plugin's log. */
  warn(message: string): void
}

/** Answers what a plugin asks of the host while it waits; what goes wrong is the answer, too. */
export function createQuestionAnswers(
  settings: QuestionAnswersSettings,
): (question: Question, reply: Reply) => void {
  const { isolate, services, pluginCalls, warn } = settings
  const askHost = dispatchByKind<HostQuestion, Answer | Promise<Answer>>(services)
  /** Short ids that named several plugins, and about which the plugin's log has a line. */
  const ambiguous = new Set<string>()

  /** Over all that are installed: who may be called is not to change when one of them is switched off. */
  function findPlugin(id: string, reply: Reply): void {
    const [found, ...others] = services.installedAs(id)
    if (found !== undefined && others.length === 0) {
      pluginCalls.find(isolate, found, reply)
      return
    }
    if (found !== undefined && !ambiguous.has(id)) {
      ambiguous.add(id)
      const all = [found, ...others].join(' and ')
      warn(`Plugin.get: ${JSON.stringify(id)} is the short id of ${all}; use the full id`)
    }
    reply.succeed(undefined)
  }

  return (question, reply) => {
    try {
      if (question.kind === 'findPlugin') findPlugin(question.id, reply)
      else if (question.kind === 'callPlugin') pluginCalls.call(isolate, question, reply)
      else if (question.kind === 'handOver')
        pluginCalls.handOver(isolate, question.to, question.references, reply)
      else {
        const answer = askHost(question)
        if (answer instanceof Promise)
          answer.then(reply.succeed, (error: unknown) => reply.fail(messageOf(error)))
        else reply.succeed(answer)
      }
    } catch (error) {
      reply.fail(messageOf(error))
    }
  }
}
