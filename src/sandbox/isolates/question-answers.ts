import { messageOf } from '../../base/problem.ts'
import type { Question } from '../../schema/worker/question.ts'
import type { Reply } from '../calls/pending-requests.ts'
import type { PluginCalls } from '../calls/plugin-calls.ts'
import type { IsolateServices } from '../isolate.ts'

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

  function give(question: Question, reply: Reply): void {
    switch (question.kind) {
      case 'lookUpObject':
        reply.succeed(services.lookUpObject(question.fullPath, question.foreignCaller))
        break
      case 'refuseForeignCall': {
        const { foreignCaller, permission, value } = question
        reply.succeed(services.refuseForeignCall(foreignCaller, permission, value))
        break
      }
      case 'refuseConnection': {
        const { host, port, foreignCaller } = question
        reply.succeed(services.refuseConnection(host, port, foreignCaller))
        break
      }
      case 'listPlugins':
        reply.succeed(services.listPlugins())
        break
      case 'setSchedule':
        services
          .setSchedule(question.number, question.schedule)
          .then(reply.succeed, (error: unknown) => reply.fail(messageOf(error)))
        break
      case 'watch':
        reply.succeed(services.watch(question.number, question.watch, question.foreignCaller))
        break
      case 'findPlugin':
        findPlugin(question.id, reply)
        break
      case 'hookAddress':
        services
          .hookAddress(question.hook)
          .then(reply.succeed, (error: unknown) => reply.fail(messageOf(error)))
        break
      case 'callPlugin':
        pluginCalls.call(isolate, question, reply)
        break
      case 'handOver':
        pluginCalls.handOver(isolate, question.to, question.references, reply)
        break
    }
  }

  return (question, reply) => {
    try {
      give(question, reply)
    } catch (error) {
      reply.fail(messageOf(error))
    }
  }
}
