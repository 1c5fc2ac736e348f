import Type, { type Static, type TSchema } from 'typebox'
import { VariablePattern } from '../parsing/variable-pattern.ts'
import { oneOf } from '../parsing/one-of.ts'

/**
 * What a plugin says it needs of the world outside (`permissions` of its manifest). Without the member nothing is
 * declared, and nothing refused; with it, what is not listed is refused.
 */

/** Entries of one list; who needs more needs a wildcard. */
const listLimit = 100

/** `${config.<path>}` stands for what the owner configured there: `key`, `object.member`, `list[].column`. */
const placeholder = '\\$\\{config\\.[^{}/]+\\}'
const hostName = '[^\\s/*:$[\\]@?#{}\\\\]+'
const port = '(:[0-9]{1,5})?'

const HostPattern = Type.String({
  maxLength: 300,
  pattern: `^(${placeholder}|(\\*|(\\*\\.)?${hostName})${port}|\\[[0-9a-fA-F:.]+\\]${port}|[0-9a-fA-F]*:[0-9a-fA-F.]*:[0-9a-fA-F:.]*)$`,
  description:
    'A host name or IP address, with or without :port, *.example.com, * or ${config.key} (the hosts of the addresses configured there)',
})

const TopicPattern = Type.String({
  minLength: 1,
  maxLength: 1_000,
  pattern: '^((\\+|[^+#/\\u0000]*)/)*(\\+|#|[^+#/\\u0000]*)$',
  description: 'An MQTT topic filter; + and # are possible, and ${config.key} for what is configured there',
})

const PluginPattern = Type.String({
  maxLength: 300,
  pattern: `^(${placeholder}|\\*|@[a-z0-9][a-z0-9._-]{0,63}/(\\*|[a-z0-9][a-z0-9._-]{0,63}))$`,
  description:
    'A full id (@namespace/id), @namespace/*, * or ${config.key} (the plugins that are configured there)',
})

const SerialPattern = Type.String({
  minLength: 1,
  maxLength: 1_000,
  pattern: '^[^\\u0000]*$',
  description: 'The path of a serial port, * or ${config.key} (what is configured there)',
})

const ServicePattern = Type.String({
  minLength: 1,
  maxLength: 300,
  pattern: '^[^\\s\\u0000]*$',
  description: 'A DNS-SD service (_http._tcp), an SSDP target, * or ${config.key} (what is configured there)',
})

const listed = <S extends TSchema>(pattern: S, description: string) =>
  Type.Optional(Type.Array(pattern, { maxItems: listLimit, description }))

export const Permissions = Type.Object(
  {
    hosts: listed(HostPattern, 'Where its HTTP requests, connections and Modbus may go'),
    mqtt: Type.Optional(
      Type.Object(
        {
          publish: listed(TopicPattern, 'Where it may publish to'),
          subscribe: listed(TopicPattern, 'What it may subscribe to'),
        },
        { description: 'Topics beside its own' },
      ),
    ),
    plugins: listed(PluginPattern, 'Other plugins that it may call and read'),
    hooks: Type.Optional(
      Type.Literal('public', {
        description:
          'It may be asked from outside by anybody, without the secret part of an address (auth = "none")',
      }),
    ),
    serial: listed(SerialPattern, 'Serial ports that it may open'),
    discovery: listed(ServicePattern, 'What it may look for on the network'),
    environment: listed(
      VariablePattern,
      "Variables of the host's environment that its settings may be read from",
    ),
  },
  {
    description:
      'What the plugin may reach; what is not listed is refused. Without it nothing is refused but to set things of other plugins over MQTT',
  },
)
export type Permissions = Static<typeof Permissions>

/** One line of a list, as people compare them. `everything`: the plugin declares nothing, so nothing is refused. */
export const PermissionEntry = Type.Object({
  kind: oneOf([
    'host',
    'publish',
    'subscribe',
    'plugin',
    'hooks',
    'serial',
    'discovery',
    'environment',
    'everything',
  ]),
  value: Type.String({ description: 'As the manifest has it; `*` for everything' }),
})
export type PermissionEntry = Static<typeof PermissionEntry>
export type PermissionKind = PermissionEntry['kind']
