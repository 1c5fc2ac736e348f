import {
  type HookAuth,
  hookAuths,
  hookMethodPattern,
  hookMethodsLimit,
  hookPathLimit,
} from '../../../../schema/outside/hook-limits.ts'
import type { HookDeclaration, HookOutcome, HookRequest } from '../../../../schema/outside/hook.ts'
import { fits } from '../../../../schema/parsing/text-limits.ts'
import { refusalSentence } from '../../../../schema/manifest/permission-refusal.ts'
import { callLua, type Steps } from '../../lua/steps.ts'
import type { LuaValue } from '../../lua/lua-value.ts'
import type { ForeignCaller } from '../../limits/foreign-callers.ts'
import type { PluginContext } from '../../plugin-context.ts'
import {
  functionArgument,
  isTable,
  option,
  optionalText,
  textArgument,
  typeName,
} from '../../lua/arguments.ts'
import { toBytes } from '../../lua/text/bytes.ts'
import { createRegistrations, type Registration } from '../registrations.ts'
import { createHandlerAnswers } from './handler-answer.ts'
import { createHandlerRequests } from './handler-request.ts'

/** What the host has to do with the handlers. */
export interface PluginHttpHandlers {
  /** A request has come: it can be given up from now on. */
  begin(request: number): void
  /** Has the handler of this number answer it. */
  take(request: number, handler: number, hook: HookRequest): Steps<void>
  /** Nobody waits for the answer to this request any more. */
  giveUp(request: number): void
}

interface Handler extends Registration {
  hook: HookDeclaration
  /** The path as the plugin has written it. */
  path: string
}

const ended: HookOutcome = { ok: false, reason: 'ended' }
const nothing: HookOutcome = { ok: true, status: 204, headers: [] }

/** `plugin:httpHandler` and `plugin:hookUrl` (plugin API, section 14). */
export function installHttpHandlers(context: PluginContext): PluginHttpHandlers {
  const { runtime, entry, source } = context
  const handlers = createRegistrations<Handler>(context, {
    ...{ stage: 'httpHandlers', limit: 'httpHandlers', plural: 'handlers' },
    removed(handler, { hook }) {
      numbers.delete(hook.path)
      context.send({ kind: 'removeHttpHandler', handler })
    },
  })
  const numbers = new Map<string, number>()
  /** Requests that somebody waits for. */
  const open = new Set<number>()
  const tableOf = createHandlerRequests(context)
  const read = createHandlerAnswers(context)

  function refuseOthers(foreignCaller: ForeignCaller): void {
    if (foreignCaller !== undefined)
      throw new Error('another plugin cannot be asked from outside in the name of this one')
  }

  context.addCallerAwareMethod('httpHandler', (foreignCaller, path, callback, options) => {
    refuseOthers(foreignCaller)
    const written = pathArgument('httpHandler', path)
    const run = functionArgument('httpHandler', 2, callback)
    const hook = declarationOf(written, options)
    if (hook.auth === 'none' && !source.publicHooks)
      throw new Error(refusalSentence(source.id, 'hooks', 'public'))
    const before = numbers.get(hook.path)
    if (before !== undefined) handlers.remove(before)
    const handler = handlers.add(`handler of '${written}'`, { hook, path: written, run })
    numbers.set(hook.path, handler)
    context.send({ kind: 'setHttpHandler', handler, hook })
    return handlers.unsubscribe(handler)
  })

  context.addCallerAwareMethod('hookUrl', function* (foreignCaller, path) {
    refuseOthers(foreignCaller)
    const asked = declarationOf(pathArgument('hookUrl', path), undefined)
    const known = handlers.find(numbers.get(asked.path) ?? 0)?.hook
    const { url, secret } = yield* context.ask({ kind: 'hookAddress', hook: known ?? asked })
    if (secret !== undefined) context.redactor.hide(secret)
    return toBytes(url)
  })

  /** Once; false when nobody waits for it any more. */
  function answer(request: number, outcome: HookOutcome): boolean {
    if (!open.delete(request)) return false
    context.answerHook(request, outcome)
    return true
  }

  context.resources.add('httpHandlers', {
    // Who still waits for an answer of theirs is none of them.
    count: () => 0,
    release() {
      for (const request of [...open]) answer(request, ended)
    },
  })

  function* run(request: number, { path, run: callee }: Handler, hook: HookRequest): Steps<void> {
    const respond = runtime.wrap('respond', (...values) => {
      if (!open.has(request)) return false
      // What is called without anything answers all the same.
      return answer(request, read(values) ?? nothing)
    })
    try {
      const results = yield* callLua(callee, yield* tableOf(hook, path), respond)
      const outcome = open.has(request) ? read(results) : undefined
      if (outcome !== undefined) answer(request, outcome)
    } catch (error) {
      entry.failed(`handler of '${path}'`, callee, error)
      answer(request, { ok: false, reason: 'failed' })
    }
  }

  return {
    begin(request) {
      open.add(request)
    },
    *take(request, number, hook) {
      if (!open.has(request)) return
      const handler = handlers.find(number)
      if (handler === undefined) answer(request, ended)
      else yield* run(request, handler, hook)
    },
    giveUp: (request) => void answer(request, ended),
  }
}

function pathArgument(method: string, value: LuaValue): string {
  const path = optionalText(value) === '' ? '' : textArgument(method, 1, value, hookPathLimit)
  if (!fits(path, hookPathLimit)) throw new Error(`the path has more than ${hookPathLimit} bytes`)
  if (/[\u0000-\u001f\u007f\\]/.test(path))
    throw new Error('the path has a control character or a backslash in it')
  // Whoever asks resolves them first.
  if (path.split('/').some((segment) => segment === '.' || segment === '..'))
    throw new Error("the path has '.' or '..' as a part, which no request can have")
  return path
}

function declarationOf(written: string, options: LuaValue): HookDeclaration {
  const methods = readMethods(option(options, 'methods'))
  return {
    path: written.replace(/^\//, ''),
    auth: readAuth(option(options, 'auth')),
    ...(methods === undefined ? {} : { methods }),
  }
}

function readAuth(value: LuaValue): HookAuth {
  if (value === undefined) return 'secret'
  const name = optionalText(value) ?? typeName(value)
  const auth = hookAuths.find((known) => known === name)
  if (auth === undefined) throw new Error(`auth is one of ${hookAuths.join(', ')}, not ${name}`)
  return auth
}

function readMethods(value: LuaValue): string[] | undefined {
  if (value === undefined) return undefined
  const values = isTable(value) ? value.entries().map(([, item]) => item) : [value]
  const methods = [...new Set(values.map((item) => (optionalText(item) ?? typeName(item)).toUpperCase()))]
  const wrong = methods.find((method) => !new RegExp(hookMethodPattern).test(method))
  if (wrong !== undefined) throw new Error(`${wrong} is no method of HTTP`)
  if (methods.length === 0 || methods.length > hookMethodsLimit)
    throw new Error(`methods are from 1 to ${hookMethodsLimit}; leave them out for all`)
  return methods.sort()
}
