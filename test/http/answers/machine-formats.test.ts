import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActor, createMachine } from 'xstate'
import { pluginLifecycle } from '../../../machines/plugin-lifecycle.ts'
import { machineToJson, machineToMermaid, machineToScxml } from '../../../src/http/answers/machine-formats.ts'

/** A machine with one of everything, and with texts that would break each format. */
const lamp = createMachine({
  id: 'the-lamp',
  description: 'A lamp -- "on" or <off>;\nnothing else-',
  context: { level: 1 },
  initial: 'off',
  on: { BREAK: '.broken', CLEAN: { actions: 'dust' } },
  states: {
    off: {
      description: 'Dark',
      entry: 'darken',
      on: {
        'press:once': {
          target: 'on',
          guard: 'has"Power"',
          actions: ['count', { type: 'tell' }],
          description: 'a--b',
        },
      },
    },
    on: {
      initial: 'dim',
      exit: [() => undefined, 'save'],
      states: { dim: { on: { UP: 'bright' } }, bright: {} },
      always: { target: 'off', guard: { type: 'isLate' } },
      on: { entry: { actions: 'x' } },
    },
    broken: { type: 'final' },
  },
})

test('as JSON a definition makes the same machine again, with code by its name', () => {
  assert.deepEqual(machineToJson(lamp), {
    id: 'the-lamp',
    description: 'A lamp -- "on" or <off>;\nnothing else-',
    context: { level: 1 },
    initial: 'off',
    on: { BREAK: '.broken', CLEAN: { actions: 'dust' } },
    states: {
      off: {
        description: 'Dark',
        entry: 'darken',
        on: {
          'press:once': {
            target: 'on',
            guard: 'has"Power"',
            actions: ['count', 'tell'],
            description: 'a--b',
          },
        },
      },
      on: {
        initial: 'dim',
        exit: ['inline', 'save'],
        states: { dim: { on: { UP: 'bright' } }, bright: {} },
        always: { target: 'off', guard: 'isLate' },
        on: { entry: { actions: 'x' } },
      },
      broken: { type: 'final' },
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

test('as Mermaid every state, transition, guard and action is drawn, and texts cannot break the diagram', () => {
  assert.equal(
    machineToMermaid(lamp),
    `stateDiagram-v2
  %% A lamp -- "on" or <off>; nothing else-
  [*] --> the_2d_lamp__off
  state "off" as the_2d_lamp__off
  %% Dark
  the_2d_lamp__off --> the_2d_lamp__on : press#58;once [has#34;Power#34;] / count, tell
  state "on" as the_2d_lamp__on
  state the_2d_lamp__on {
    [*] --> the_2d_lamp__on__dim
    state "dim" as the_2d_lamp__on__dim
    the_2d_lamp__on__dim --> the_2d_lamp__on__bright : UP
    state "bright" as the_2d_lamp__on__bright
  }
  the_2d_lamp__on : entry / x
  the_2d_lamp__on --> the_2d_lamp__off : always [isLate]
  state "broken" as the_2d_lamp__broken
  the_2d_lamp__broken --> [*]
  the_2d_lamp__off --> the_2d_lamp__broken : BREAK
  the_2d_lamp__on --> the_2d_lamp__broken : BREAK
  the_2d_lamp__broken --> the_2d_lamp__broken : BREAK
  %% in any state: CLEAN / dust
`,
  )
})

test('as SCXML every state, transition, guard and action is written, and texts are escaped', () => {
  assert.equal(
    machineToScxml(lamp),
    `<?xml version="1.0" encoding="UTF-8"?>
<scxml xmlns="http://www.w3.org/2005/07/scxml" xmlns:machine="urn:lupine:machine" version="1.0" name="the-lamp" initial="the-lamp">
  <state id="the-lamp" initial="the-lamp.off">
    <!-- A lamp - - "on" or <off>; nothing else-  -->
    <transition event="BREAK" target="the-lamp.broken"/>
    <transition event="CLEAN">
      <machine:action name="dust"/>
    </transition>
    <state id="the-lamp.off">
      <!-- Dark -->
      <onentry>
        <machine:action name="darken"/>
      </onentry>
      <!-- a- -b -->
      <transition event="press:once" cond="has&quot;Power&quot;" target="the-lamp.on">
        <machine:action name="count"/>
        <machine:action name="tell"/>
      </transition>
    </state>
    <state id="the-lamp.on" initial="the-lamp.on.dim">
      <onexit>
        <machine:action name="inline"/>
        <machine:action name="save"/>
      </onexit>
      <transition event="entry">
        <machine:action name="x"/>
      </transition>
      <transition cond="isLate" target="the-lamp.off"/>
      <state id="the-lamp.on.dim">
        <transition event="UP" target="the-lamp.on.bright"/>
      </state>
      <state id="the-lamp.on.bright">
      </state>
    </state>
    <final id="the-lamp.broken">
    </final>
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
