import type { FixturePlugin } from '../helpers/fixture-repository.ts'

/** A plugin with settings of nearly every kind, which shows as an object what it got. */
export const bridge: FixturePlugin = {
  id: 'bridge',
  lua: `local plugin = Plugin:new("bridge")
    plugin:onInit(function(config) plugin:upsertObject("config", { text = plugin:jsonEncode(config) }) end)`,
  manifest: {
    configSchema: [
      {
        key: 'rules',
        type: 'list',
        label: 'Rules',
        description: 'What is passed on',
        maxItems: 4,
        lines: ['{from} -> {to} {…}'],
        fields: [
          { key: 'from', type: 'string', label: 'From', required: true, suggest: 'topic' },
          { key: 'to', type: 'string', label: 'To', required: true, placeholder: 'home/lamp' },
          { key: 'every', type: 'number', label: 'Every', unit: 's', default: '10', min: 1, advanced: true },
          { key: 'code', type: 'password', label: 'Code' },
        ],
      },
      { key: 'names', type: 'list', label: 'Names', items: { type: 'string' } },
      {
        key: 'mode',
        type: 'select',
        label: 'Mode',
        enum: ['mqtt', 'http'],
        default: 'mqtt',
        group: 'Server',
      },
      {
        key: 'url',
        type: 'string',
        label: 'Address',
        required: true,
        showIf: { mode: 'http' },
        group: 'Server',
      },
      {
        key: 'broker',
        type: 'object',
        label: 'Broker',
        showIf: { mode: 'mqtt' },
        group: 'Server',
        fields: [
          { key: 'host', type: 'string', label: 'Host', suggest: 'host' },
          { key: 'port', type: 'integer', label: 'Port', default: '1883' },
        ],
      },
    ],
  },
}
