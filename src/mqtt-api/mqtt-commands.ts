import { createHash } from 'node:crypto'
import { quoted } from '../base/text/cut-text.ts'
import { isJsonObject, type Json } from '../base/text/json.ts'
import type { Logger } from '../base/log/log.ts'
import { createWarner } from '../base/log/warning.ts'
import { Problem, problemDocument } from '../base/problem.ts'
import type { Clock } from '../base/time/clock.ts'
import type { Bus, BusMessage, BusSubscription } from '../bus/bus.ts'
import { createTopics } from '../schema/names/topics.ts'
import { parseJsonText, requireUnique } from '../schema/parsing/json-text.ts'
import { installRequest } from '../schema/api/api.ts'
import {
  isMqttVerb,
  type MqttRequest,
  type MqttVerb,
  mqttVerbs,
  parseMqttRequest,
} from '../schema/api/mqtt-request.ts'
import type { Parser } from '../schema/parsing/parser.ts'
import { answerText, type MqttResponse } from './answer-text.ts'
import type { Responsibility } from './responsibility.ts'
import { controlValueFromText, exposedValueFromText } from './value-from-text.ts'
import { type LifecycleFacade, retryAfterCatchUp } from '../lifecycle/facade.ts'
import type { CommandContext } from '../lifecycle/lifecycle.ts'

/** Requests that may be under way at a time; each may fetch files. More are not even answered. */
const pendingRequestsLimit = 1_000

/** Characters of a transaction that the journal and each of its checkpoints get as they are; of a longer one they get a hash. */
const writtenTransaction = 255

export interface MqttCommandsSettings {
  lifecycle: LifecycleFacade
  bus: Bus
  root: string
  logger: Logger
  clock: Clock
  /** Absent: this host answers for all. In a fleet one host answers requests, and the one that has a plugin sets its values. */
  responsibility?: Responsibility
}

/** Commands over MQTT: `R/request/<verb>` with an answer; `P/controls/<id>/set` and `P/exposed/…/set` without. */
export interface MqttCommands {
  start(): Promise<void>
  /** Takes no more commands; those under way are the lifecycle's to finish. Idempotent. */
  close(): Promise<void>
}

function parse<T>(parser: Parser<T>, request: unknown): T {
  const parsed = parser(request)
  if (parsed.ok) return parsed.value
  throw new Problem('body_invalid', 'The request is not as it must be; `errors` says where.', {
    errors: parsed.errors,
  })
}

/** Where a message comes from, as far as the broker tells. Clients choose their ids. */
function sentBy({ publisher, client }: Pick<BusMessage, 'publisher' | 'client'>): string {
  if (publisher !== undefined) return `over MQTT by ${publisher}`
  return client === undefined ? 'over MQTT' : `over MQTT by client ${quoted(client)}`
}

interface ReadRequest {
  members: Record<string, unknown>
  /** Pointers of those that are there more than once. */
  repeated: readonly string[]
}

/** Nothing at all counts as a request without members. */
export function readRequest(payload: Uint8Array): ReadRequest {
  if (payload.length === 0) return { members: {}, repeated: [] }
  const parsed = parseJsonText(payload)
  if (!parsed.ok) throw new Problem('body_invalid', `The request ${parsed.message}.`)
  if (!isJsonObject(parsed.value)) {
    throw new Problem(
      'body_invalid',
      'The request must be a JSON object, such as {"plugin": "@starter/clock"}.',
    )
  }
  return { members: parsed.value, repeated: parsed.repeated }
}

function nameOf(transaction: unknown): string {
  const text = JSON.stringify(transaction)
  return text.length > writtenTransaction ? createHash('sha256').update(text).digest('hex') : text
}

function installation({ plugin, fullId, ...more }: MqttRequest<'install'>) {
  const wanted = fullId ?? plugin ?? undefined
  if (wanted === undefined) {
    const errors = [{ path: '/plugin', message: 'is required' }]
    throw new Problem('body_invalid', 'Name the plugin to install: {"plugin": "@namespace/shortId"}.', {
      errors,
    })
  }
  if (wanted !== (plugin ?? wanted)) {
    const errors = [{ path: '/plugin', message: `must be ${wanted}, to match fullId` }]
    throw new Problem('body_invalid', 'plugin and fullId name different plugins.', { errors })
  }
  return installRequest({ fullId: wanted, ...more })
}

/** Carries out a request; answers what the same command answers over HTTP. */
async function carryOut(
  lifecycle: LifecycleFacade,
  verb: MqttVerb,
  body: unknown,
  by: CommandContext,
): Promise<unknown> {
  switch (verb) {
    case 'list':
      parse(parseMqttRequest.list, body)
      return { plugins: await lifecycle.list() }
    case 'install':
      return lifecycle.install(installation(parse(parseMqttRequest.install, body)), by)
    case 'toggle': {
      const { plugin, enabled } = parse(parseMqttRequest.toggle, body)
      return lifecycle.toggle(lifecycle.resolveId(plugin), enabled, by)
    }
    case 'config': {
      const { plugin, config } = parse(parseMqttRequest.config, body)
      return lifecycle.configure(lifecycle.resolveId(plugin), config, by)
    }
    case 'reload': {
      const { plugin } = parse(parseMqttRequest.reload, body)
      return lifecycle.reload(lifecycle.resolveId(plugin), by)
    }
    case 'update': {
      const { plugin, version } = parse(parseMqttRequest.update, body)
      return lifecycle.update(lifecycle.resolveId(plugin), version ?? undefined, by)
    }
    case 'uninstall': {
      const { plugin, purge = [] } = parse(parseMqttRequest.uninstall, body)
      return lifecycle.uninstall(lifecycle.resolveId(plugin), [...new Set(purge)], by)
    }
  }
}

export function createMqttCommands(settings: MqttCommandsSettings): MqttCommands {
  const { lifecycle, bus, root, logger, clock, responsibility } = settings
  const warn = createWarner(logger, clock)
  const topics = createTopics(root)
  let subscriptions: BusSubscription[] = []
  let starting: Promise<void> | undefined
  let closed = false
  let pending = 0

  /** Of a fleet: after a fail-over the same request may come to another host. What was done is not done again. */
  async function answerOnce(verb: MqttVerb, body: Record<string, unknown>): Promise<unknown> {
    const { transaction } = body
    const carry = (by: CommandContext): Promise<unknown> =>
      retryAfterCatchUp(lifecycle, () => carryOut(lifecycle, verb, body, by), { isCommand: verb !== 'list' })
    // Null says the same as leaving it out.
    if (responsibility === undefined || transaction === undefined || transaction === null || verb === 'list')
      return carry({ by: 'mqtt' })
    const requestKey = `mqtt ${verb} ${nameOf(transaction)}`
    const known = lifecycle.recallRequest(requestKey)
    if (known === undefined) return carry({ by: 'mqtt', requestKey })
    await known.finish()
    return verb === 'uninstall' ? { id: known.plugin, state: 'uninstalled' } : lifecycle.get(known.plugin)
  }

  async function answer(verb: string, { topic, payload, publisher }: BusMessage): Promise<MqttResponse> {
    let transaction: { transaction?: unknown } = {}
    try {
      const { members: body, repeated } = readRequest(payload)
      if (body.transaction !== undefined) transaction = { transaction: body.transaction }
      if (publisher !== undefined) {
        logger.warn('A request of a plugin was refused', { verb, origin: publisher })
        throw new Problem('forbidden', `${publisher} is a plugin, and no plugin commands the host.`)
      }
      if (!isMqttVerb(verb)) {
        throw new Problem('not_found', `There is no request of this name; there are ${mqttVerbs.join(', ')}.`)
      }
      requireUnique(repeated, 'request')
      return { status: 'ok', data: await answerOnce(verb, body), ...transaction }
    } catch (error) {
      if (!(error instanceof Problem)) logger.error('An MQTT request failed', { verb, error })
      return { status: 'error', error: problemDocument(error, topic), ...transaction }
    }
  }

  /**
   * A retained command is not carried out: the broker would repeat it at every start of the host, long after
   * whoever sent it has forgotten it.
   */
  async function onRequest(message: BusMessage): Promise<void> {
    const verb = topics.parseRequest(message.topic)
    if (verb === undefined || message.retained || responsibility?.isCoordinator() === false) return
    if (pending >= pendingRequestsLimit) {
      warn('An MQTT request was dropped: too many are under way', { verb }, verb)
      return
    }
    pending += 1
    const response = await answer(verb, message)
    pending -= 1
    const topic = topics.response(verb)
    const asked = { topic: message.topic, changes: verb !== 'list' }
    await bus.publish(topic, answerText(response, asked, bus.payloadLimit?.(topic)), { qos: 1 })
  }

  async function setControl({ topic, payload, retained, ...sender }: BusMessage): Promise<void> {
    const command = topics.parseControlSet(topic)
    if (command === undefined || retained) return
    const { plugin, control } = command
    if (responsibility?.owns(plugin) === false) return
    const type = await lifecycle.controlType(plugin, control)
    const value: Json = controlValueFromText(Buffer.from(payload).toString(), type)
    await lifecycle.setControl(plugin, control, value, sentBy(sender))
  }

  async function setExposed({ topic, payload, retained, ...sender }: BusMessage): Promise<void> {
    const command = topics.parseExposedSet(topic)
    if (command === undefined || retained) return
    const { plugin, exposure: id, feature } = command
    if (responsibility?.owns(plugin) === false) return
    const found = (await lifecycle.exposures(plugin)).find((view) => view.id === id)
    const text = Buffer.from(payload).toString()
    const value = found === undefined ? text : exposedValueFromText(text, found.exposure, feature)
    await lifecycle.setExposed(plugin, id, feature, value, sentBy(sender))
  }

  function guarded(handler: (message: BusMessage) => Promise<void>): (message: BusMessage) => void {
    return (message) => {
      if (closed) return
      handler(message).catch((error: unknown) => {
        if (closed) return
        const { topic, publisher } = message
        const origin = publisher === undefined ? {} : { origin: publisher }
        warn('An MQTT command was refused', { topic, reason: error, ...origin }, topic)
      })
    }
  }

  async function subscribe(): Promise<void> {
    subscriptions = await Promise.all([
      bus.subscribe(topics.allRequests, guarded(onRequest)),
      bus.subscribe(topics.allControlSets, guarded(setControl)),
      bus.subscribe(topics.allExposedSets, guarded(setExposed)),
    ])
  }

  return {
    start: () => (starting ??= closed ? Promise.resolve() : subscribe()),
    async close() {
      if (closed) return
      closed = true
      await starting?.catch(() => undefined)
      await Promise.all(subscriptions.map((subscription) => subscription.close()))
    },
  }
}
