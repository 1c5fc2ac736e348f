import { byKind } from '../../base/by-kind.ts'
import { messageOf } from '../../base/problem.ts'
import type { Answer, Question } from '../../schema/worker/question.ts'
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

  const give = byKind<Question, [Reply]>({
    lookUpObject: ({ fullPath, foreignCaller }, reply) =>
      reply.succeed(services.lookUpObject(fullPath, foreignCaller)),
    refuseForeignCall: ({ foreignCaller, permission, value }, reply) =>
      reply.succeed(services.refuseForeignCall(foreignCaller, permission, value)),
    refuseConnection: ({ host, port, foreignCaller }, reply) =>
      reply.succeed(services.refuseConnection(host, port, foreignCaller)),
    listPlugins: (_question, reply) => reply.succeed(services.listPlugins()),
    setSchedule: ({ number, schedule }, reply) => later(services.setSchedule(number, schedule), reply),
    watch: ({ number, watch, foreignCaller }, reply) =>
      reply.succeed(services.watch(number, watch, foreignCaller)),
    findPlugin: ({ id }, reply) => findPlugin(id, reply),
    hookAddress: ({ hook }, reply) => later(services.hookAddress(hook), reply),
    callPlugin: (question, reply) => pluginCalls.call(isolate, question, reply),
    handOver: ({ to, references }, reply) => pluginCalls.handOver(isolate, to, references, reply),
  })

  return (question, reply) => {
    try {
      give(question, reply)
    } catch (error) {
      reply.fail(messageOf(error))
    }
  }
}

function later(answer: Promise<Answer>, reply: Reply): void {
  answer.then(reply.succeed, (error: unknown) => reply.fail(messageOf(error)))
}
