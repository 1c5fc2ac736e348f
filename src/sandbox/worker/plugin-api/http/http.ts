import { messageOf } from '../../../../base/problem.ts'
import type { HttpAnswer, HttpRequest } from '../../../../schema/outside/outside.ts'
import { textLimits } from '../../../../schema/parsing/text-limits.ts'
import type { LuaFunction, LuaTable, LuaValue } from '../../lua/lua-value.ts'
import type { Steps } from '../../lua/steps.ts'
import type { ForeignCaller } from '../../limits/foreign-callers.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { isTable, optionalFunction, optionalText, tableArgument, textArgument } from '../../lua/arguments.ts'
import { toBytes } from '../../lua/text/bytes.ts'
import { createAnswerTables } from './http-answer.ts'
import { type HttpOptions, readHttpOptions, withoutSecrets } from './http-options.ts'

/** What is needed of a request when its answer comes: not its body, of which many would be kept. */
type Asked = Pick<HttpRequest, 'method' | 'url'> & Pick<HttpOptions, 'parseJson' | 'log'>

/** `httpRequest`, and the older `httpGet` and `httpPost` (plugin API, section 4). */
export function installHttp(context: PluginContext): void {
  const { runtime, entry, calls, log } = context
  const toTable = createAnswerTables(context)
  const ignored = new Set<string>()

  /** Once for each: who asks every second should not fill the log. */
  function warnOfIgnored(names: readonly string[]): void {
    for (const name of names.filter((one) => !ignored.has(one))) {
      ignored.add(name)
      log.write('warn', `httpRequest: the header ${name} is not sent as given; the host writes it by itself`)
    }
  }

  function writeLine({ method, url, log: line }: Asked, answer: HttpAnswer): void {
    if (line === undefined) return
    const shown = line.redact ? withoutSecrets(url) : url
    const outcome = answer.error === undefined ? String(answer.status) : answer.error.message
    log.write('debug', `${method} ${shown}: ${outcome} (${answer.elapsed} ms)`)
  }

  /** `told` makes of the answer what the callback gets. */
  function start(
    name: string,
    options: LuaTable,
    callback: LuaFunction | undefined,
    foreignCaller: ForeignCaller,
    told: (table: LuaTable) => LuaValue[],
  ): void {
    let asked: Asked | undefined
    function* settle(answer: HttpAnswer): Steps<void> {
      if (asked !== undefined) writeLine(asked, answer)
      if (callback === undefined) return
      const table = yield* toTable(answer, asked?.method ?? '', asked?.parseJson ?? 'never', foreignCaller)
      yield* entry.report(`callback of ${name}`, callback, ...told(table))
    }
    const heard: Parameters<typeof calls.start>[1] = (reply) => {
      if (reply.service === 'http') entry.start(settle(reply.answer))
    }
    let read: HttpOptions
    try {
      read = readHttpOptions(context, options)
      const { method, url } = read.request
      asked = { method, url, parseJson: read.parseJson, log: read.log }
      if (read.request.cookies === true && foreignCaller !== undefined)
        throw new Error('another plugin cannot use the cookies of this one')
    } catch (error) {
      calls.refuse('http', messageOf(error), heard, foreignCaller)
      return
    }
    warnOfIgnored(read.ignored)
    calls.start({ service: 'http', request: read.request }, heard, foreignCaller)
  }

  context.addCallerAwareMethod('httpRequest', (foreignCaller, options, callback) => {
    const run = optionalFunction('httpRequest', 2, callback)
    start('httpRequest', optionsOf('httpRequest', options), run, foreignCaller, withError)
    return true
  })

  /** The older functions know of a status only that it is in the answer. */
  function older(
    name: string,
    options: LuaTable,
    callback: LuaFunction | undefined,
    foreignCaller: ForeignCaller,
  ): void {
    start(name, options, callback, foreignCaller, (table) => {
      if (optionalText(table.get('errCode'))?.startsWith('http_') !== true) return withError(table)
      table.set('err', undefined)
      table.set('errCode', undefined)
      return [table]
    })
  }

  context.addCallerAwareMethod('httpGet', (foreignCaller, url, callback) => {
    textArgument('httpGet', 1, url, textLimits.url)
    older('httpGet', tableOf({ url }), optionalFunction('httpGet', 2, callback), foreignCaller)
    return true
  })
  context.addCallerAwareMethod('httpPost', (foreignCaller, url, data, callback) => {
    textArgument('httpPost', 1, url, textLimits.url)
    const content = isTable(data) ? { json: data } : { body: data }
    const options = tableOf({ url, method: toBytes('POST'), ...content })
    older('httpPost', options, optionalFunction('httpPost', 3, callback), foreignCaller)
    return true
  })

  function tableOf(members: Record<string, LuaValue>): LuaTable {
    const table = runtime.newTable()
    for (const [key, value] of Object.entries(members)) table.set(key, value)
    return table
  }

  /** A bare URL will do. */
  function optionsOf(name: string, options: LuaValue): LuaTable {
    return options instanceof Uint8Array ? tableOf({ url: options }) : tableArgument(name, 1, options)
  }
}

const withError = (table: LuaTable): LuaValue[] => [table, table.get('err')]
