import assert from 'node:assert/strict'
import { test } from 'node:test'
import { globalFunctions, tableFields } from '../../src/sandbox/worker/plugin-api/names.ts'
import { pluginSource, withPlugin } from './stage.ts'

// Parts are made when somebody uses them first, so that one that is missing would be found by whoever needs it.
test('every function that is listed is there when it is called, and every one that is there is listed', async () => {
  const functions = [
    ...Object.entries(tableFields).flatMap(([table, fields]) =>
      Object.entries(fields)
        .filter(([, field]) => typeof field === 'string')
        .map(([key]) => `${table}.${key}`),
    ),
    ...Object.keys(globalFunctions),
  ]
  // Without arguments each of them says what it needs, or does nothing of note.
  const calls = functions.map((name) => `try(${JSON.stringify(name)}, ${name})`).join('\n')
  await withPlugin(
    pluginSource(`
      local wrong = {}
      local function try(name, f)
        local _, message = pcall(f)
        message = tostring(message)
        if message:find("no part has") or message:find("not listed") or message:find("attempt to call") then
          wrong[#wrong + 1] = name .. ": " .. message
        end
      end
      ${calls}
      print("wrong: " .. table.concat(wrong, ", "))
    `),
    ({ recorder }) => {
      assert.ok(functions.length >= 80, `${functions.length} functions`)
      assert.deepEqual(
        recorder.logs().filter((line) => line.includes('wrong:')),
        ['info wrong: '],
      )
    },
  )
})
