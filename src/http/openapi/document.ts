import type { TSchema } from 'typebox'
import { type ProblemCode, problemTable } from '../../base/problem.ts'
import {
  ChangeCheckAnswer,
  FieldAnswer,
  HostAnswer,
  JournalEventAnswer,
  LogEntryAnswer,
  PluginAnswer,
  PluginStateAnswer,
  ProblemAnswer,
} from '../../schema/api/api.ts'
import { type Route, takesKey } from '../route.ts'
import { createSchemaTranslator, type SchemaTranslator } from './schema-translator.ts'

/** Described once, whatever answers hold them. */
const namedSchemas: Readonly<Record<string, TSchema>> = {
  Plugin: PluginAnswer,
  PluginState: PluginStateAnswer,
  JournalEvent: JournalEventAnswer,
  LogEntry: LogEntryAnswer,
  ChangeCheck: ChangeCheckAnswer,
  Problem: ProblemAnswer,
  Field: FieldAnswer,
  Host: HostAnswer,
}

/** What the named parts of the addresses are. */
const parameterMeanings: Readonly<Record<string, string>> = {
  id: 'A full id, @namespace/shortId, as one percent-encoded segment or as two raw ones; or a short id that only one plugin has',
  control: 'Id of the control',
  host: 'Id of a host of the fleet',
  name: 'Name, as the list has it',
  namespace: 'Namespace of the plugin, without @',
  plugin: 'Short id of the plugin',
  path: 'The secret part of the address, if it has one, and the path of the handler',
  seq: 'Number of an event of the journal',
}

/** What may stand behind the `?` of an address; where the name and the choice of values say it all, nothing. */
const queryMeanings: Readonly<Record<string, string>> = {
  q: 'A text that is in what is looked for, in any case',
  tag: 'Only plugins that have this tag; with an empty one all',
  purge: 'What goes as well, `kv`, `files`, or both with a comma; else both stay',
  limit: 'How many at most: the oldest of a history, the newest of a log',
  after:
    'Number of an event: those that came later. The `seq` of the last one of a page leads to the next page',
  level: 'Only lines of this level and of graver ones',
  file: 'A document that the manifest lists, as it is written there',
  render: 'A page of the document, without scripts',
  repository: 'Only what the repository of this name offers',
  plugin: 'Only what happens to this plugin; its full id, or a short id that only one has',
  lastEventId: 'The same as the header `Last-Event-ID`, which goes before it',
  beats: 'With `true` the event `beat` comes every 15 s, for readers that are shown no comments',
}

/** Codes that any request may be answered with: each has an address and headers that may be malformed. */
const commonProblems: readonly ProblemCode[] = ['body_invalid', 'forbidden', 'internal']
/** Codes of what is asked of one plugin, and of changes, where several hosts work as one. */
const pluginProblems: readonly ProblemCode[] = ['plugin_moving', 'fleet_unreachable']
const changeProblems: readonly ProblemCode[] = ['fleet_unreachable']
const pluginChangeProblems: readonly ProblemCode[] = ['no_other_host']
const bodyProblems: readonly ProblemCode[] = ['body_too_large', 'unsupported_media_type']

/** The description of the API (OpenAPI 3.1), from the routes and the schemas that check them. */
export function openApiDocument(routes: readonly Route[], hostVersion: string, basePath: string): object {
  const schemas = createSchemaTranslator(namedSchemas)
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    if (route.page === true) continue
    for (const path of route.also === undefined ? [route.path] : [route.path, route.also]) {
      const key = path.replace(/:(\w+)/g, '{$1}')
      paths[key] = { ...paths[key], [route.method.toLowerCase()]: operationOf(route, path, schemas) }
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Lupine',
      version: hostVersion,
      description:
        'Plugins written in Lua, their life and what they show. Without a token every request from this ' +
        'machine is served; with one, requests need it as a bearer token, or the session cookie of a login.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    security: [{ bearer: [] }, { session: [] }, {}],
    tags: [...new Set(Object.keys(paths).map(tagOf))].sort().map((name) => ({ name })),
    paths,
    components: {
      schemas: schemas.components(),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'The token of the host' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'lupine-session-<port>',
          description: 'Set by POST /api/session',
        },
      },
    },
  }
}

/** What is undefined in it is left out of its JSON. */
function operationOf(route: Route, path: string, schemas: SchemaTranslator): object {
  const { method, summary, details: description, query, body, open } = route
  return {
    operationId: operationId(method, path),
    summary,
    description,
    tags: [tagOf(path)],
    security: open === true ? [] : undefined,
    parameters: [
      ...pathParameters(path),
      ...(query === undefined ? [] : queryParameters(query, schemas)),
      ...headerParameters(route),
    ],
    requestBody: body && {
      required: requiredOf(body).length > 0,
      content: { 'application/json': { schema: schemas.translate(body) } },
    },
    responses: { ...successes(route, schemas), ...failures(route, schemas) },
  }
}

/** `GET /api/plugins/:id/logs` → `getApiPluginsIdLogs`. */
function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

/** The first word of the address: `plugins`, `history`, `livez`. */
function tagOf(path: string): string {
  return path.replace(/^\/(api\/)?/, '').split(/[/.]/)[0] ?? ''
}

function pathParameters(path: string): object[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: name === 'seq' ? 'integer' : 'string' },
    description: parameterMeanings[name],
  }))
}

function requiredOf(schema: TSchema): string[] {
  return 'required' in schema && Array.isArray(schema.required) ? schema.required.map(String) : []
}

function queryParameters(query: NonNullable<Route['query']>, schemas: SchemaTranslator): object[] {
  const required = requiredOf(query)
  return Object.entries(query.properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema: schemas.translate(schema),
    description: queryMeanings[name],
  }))
}

function headerParameters(route: Route): object[] {
  const { problems, produces } = route
  const header = (name: string, description: string): object => ({
    name,
    in: 'header',
    required: false,
    schema: { type: 'string' },
    description,
  })
  return [
    ...(problems?.includes('revision_conflict') === true
      ? [header('If-Match', 'The revision that the caller has seen, in double quotes; else 412')]
      : []),
    ...(takesKey(route)
      ? [header('Idempotency-Key', 'The same key answers the same result and acts once')]
      : []),
    ...(produces?.includes('text/event-stream') === true
      ? [
          header(
            'Last-Event-ID',
            'Number of the last lifecycle event that was seen; those after it come first',
          ),
        ]
      : []),
  ]
}

const successTexts: Readonly<Record<number, string>> = {
  101: 'The connection speaks WebSocket from here on',
  200: 'Done',
  201: 'Made',
  503: 'Not now',
}

function successes(route: Route, schemas: SchemaTranslator): Record<string, object> {
  const { answers, produces = [] } = route
  return Object.fromEntries(
    Object.entries(answers).map(([status, schema]) => {
      const content = {
        ...(schema === null ? {} : { 'application/json': { schema: schemas.translate(schema) } }),
        ...Object.fromEntries(
          produces.map((type) => [type, { schema: { type: type.endsWith('json') ? 'object' : 'string' } }]),
        ),
      }
      const description = successTexts[Number(status)] ?? 'Answered'
      const headers = headersOf(route, schema)
      return [
        status,
        {
          description,
          ...(Object.keys(headers).length === 0 ? {} : { headers }),
          ...(Object.keys(content).length === 0 ? {} : { content }),
        },
      ]
    }),
  )
}

function headersOf({ answerHeaders = {} }: Route, schema: TSchema | null): Record<string, object> {
  const meanings = {
    ...(schema === PluginAnswer ? { ETag: 'The revision in double quotes, as `If-Match` takes it' } : {}),
    ...answerHeaders,
  }
  return Object.fromEntries(
    Object.entries(meanings).map(([name, description]) => [
      name,
      { description, required: true, schema: { type: 'string' } },
    ]),
  )
}

function failures(route: Route, schemas: SchemaTranslator): Record<string, object> {
  const codes = new Set<ProblemCode>([
    ...commonProblems,
    ...(route.open === true ? [] : (['unauthorized', 'too_many_requests'] as const)),
    ...(route.body === undefined ? [] : bodyProblems),
    ...(route.path.includes('/plugins/:id') ? pluginProblems : []),
    ...(route.method === 'GET' || route.open === true ? [] : changeProblems),
    ...(route.method === 'GET' || !route.path.includes('/plugins/:id') ? [] : pluginChangeProblems),
    ...(route.problems ?? []),
  ])
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of [...codes].sort()) {
    const { status } = problemTable[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const content = { 'application/problem+json': { schema: schemas.translate(ProblemAnswer) } }
  return Object.fromEntries(
    [...byStatus]
      // A status that also has an ordinary answer keeps that one.
      .filter(([status]) => route.answers[status] === undefined)
      .map(([status, named]) => [
        String(status),
        { description: named.map((code) => `\`${code}\`: ${problemTable[code].title}`).join('. '), content },
      ]),
  )
}
