import assert from 'node:assert/strict'
import { test } from 'node:test'
import Type from 'typebox'
import Value from 'typebox/value'
import { type AnyStateMachine, createActor, createMachine } from 'xstate'
import { host } from '../../../machines/host.ts'
import { pluginLifecycle } from '../../../machines/plugin-lifecycle.ts'
import { machineToJson, machineToMermaid, machineToScxml } from '../../../src/http/answers/machine-formats.ts'

const machines: readonly AnyStateMachine[] = [host, pluginLifecycle]

/** With one of everything that the machines of the host have. */
const lamp = createMachine({
  id: 'the-lamp',
  description: 'A lamp; nothing else',
  context: { level: 1 },
  initial: 'off',
  on: { BREAK: { target: '.broken' }, CLEAN: { actions: 'dust' } },
  states: {
    off: {
      description: 'Dark',
      on: { PRESS: [{ target: 'on', guard: 'hasPower', actions: ['count', 'tell'] }, { actions: 'tell' }] },
    },
    on: { description: 'Bright', on: { PRESS: 'off', UP: { actions: ['brighten'] } } },
    broken: { description: 'Dark for good', on: { BREAK: {} } },
  },
})

const closed = { additionalProperties: false }
const Name = Type.String({ pattern: '^\\.?\\w+$' })
/** Of a comment in Mermaid and in XML. */
const Text = Type.String({ pattern: '^(?!.*--)[^<>\n]+$' })
const Transition = Type.Object(
  {
    target: Type.Optional(Name),
    guard: Type.Optional(Name),
    actions: Type.Optional(Type.Union([Name, Type.Array(Name)])),
  },
  closed,
)
const Transitions = Type.Record(Name, Type.Union([Name, Transition, Type.Array(Transition)]))
const Definition = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z-]+$' }),
    description: Text,
    context: Type.Unknown(),
    initial: Name,
    on: Type.Optional(Transitions),
    states: Type.Record(
      Name,
      Type.Object({ description: Text, on: Type.Optional(Transitions) }, closed),
      closed,
    ),
    schemas: Type.Optional(Type.Undefined()),
  },
  closed,
)

test('the machines have what the formats write, and nothing else', () => {
  for (const { id, config } of machines) {
    assert.deepEqual([...Value.Errors(Definition, config)], [], id)
  }
})

test('as JSON a definition makes the same machine again, with code by its name', () => {
  assert.deepEqual(machineToJson(lamp), {
    id: 'the-lamp',
    description: 'A lamp; nothing else',
    context: { level: 1 },
    initial: 'off',
    on: { BREAK: { target: '.broken' }, CLEAN: { actions: 'dust' } },
    states: {
      off: {
        description: 'Dark',
        on: { PRESS: [{ target: 'on', guard: 'hasPower', actions: ['count', 'tell'] }, { actions: 'tell' }] },
      },
      on: { description: 'Bright', on: { PRESS: 'off', UP: { actions: ['brighten'] } } },
      broken: { description: 'Dark for good', on: { BREAK: {} } },
    },
  })
})

test("the plugins' machine can be built from its JSON", () => {
  const definition = JSON.parse(JSON.stringify(machineToJson(pluginLifecycle)))
  assert.deepEqual(Object.keys(definition).sort(), ['description', 'id', 'initial', 'states'])
  const again = createMachine(definition)
  assert.deepEqual(Object.keys(again.states), Object.keys(pluginLifecycle.states))
  const actor = createActor(again).start()
  actor.send({ type: 'PluginInstallRequested' })
  assert.equal(actor.getSnapshot().value, 'installing')
  actor.stop()
})

test('as Mermaid every state, transition, guard and action is drawn', () => {
  assert.equal(
    machineToMermaid(lamp),
    `stateDiagram-v2
  %% A lamp; nothing else
  [*] --> the_2d_lamp__off
  state "off" as the_2d_lamp__off
  %% Dark
  the_2d_lamp__off --> the_2d_lamp__on : PRESS [hasPower] / count, tell
  the_2d_lamp__off : PRESS / tell
  state "on" as the_2d_lamp__on
  %% Bright
  the_2d_lamp__on --> the_2d_lamp__off : PRESS
  the_2d_lamp__on : UP / brighten
  state "broken" as the_2d_lamp__broken
  %% Dark for good
  the_2d_lamp__broken : BREAK
  the_2d_lamp__off --> the_2d_lamp__broken : BREAK
  the_2d_lamp__on --> the_2d_lamp__broken : BREAK
  %% in any state: CLEAN / dust
`,
  )
})

test('as SCXML every state, transition, guard and action is written', () => {
  assert.equal(
    machineToScxml(lamp),
    `<?xml version="1.0" encoding="UTF-8"?>
<scxml xmlns="http://www.w3.org/2005/07/scxml" xmlns:machine="urn:lupine:machine" version="1.0" name="the-lamp" initial="the-lamp">
  <state id="the-lamp" initial="the-lamp.off">
    <!-- A lamp; nothing else -->
    <transition event="BREAK" target="the-lamp.broken"/>
    <transition event="CLEAN">
      <machine:action name="dust"/>
    </transition>
    <state id="the-lamp.off">
      <!-- Dark -->
      <transition event="PRESS" cond="hasPower" target="the-lamp.on">
        <machine:action name="count"/>
        <machine:action name="tell"/>
      </transition>
      <transition event="PRESS">
        <machine:action name="tell"/>
      </transition>
    </state>
    <state id="the-lamp.on">
      <!-- Bright -->
      <transition event="PRESS" target="the-lamp.off"/>
      <transition event="UP">
        <machine:action name="brighten"/>
      </transition>
    </state>
    <state id="the-lamp.broken">
      <!-- Dark for good -->
      <transition event="BREAK"/>
    </state>
  </state>
</scxml>
`,
  )
})

test("the plugins' machine has each of its states and events in every format", () => {
  const texts = [machineToMermaid(pluginLifecycle), machineToScxml(pluginLifecycle)]
  for (const text of texts) {
    for (const name of [...Object.keys(pluginLifecycle.states), ...pluginLifecycle.events]) {
      assert.ok(text.includes(name), name)
    }
  }
})
