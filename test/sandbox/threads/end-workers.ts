import { parseArgs } from 'node:util'
import { pluginSource, withPlugin } from '../stage.ts'

/**
 * A process that starts and ends workers, several at a time, while V8 compiles what they run: what goes wrong there takes the
 * process with it, so this is none that tests share. `--rounds` is how many.
 */

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '1' } } })
const atOnce = 6
const source = pluginSource(`plugin:setTimeout(1, function()
  -- So much that the next step of the garbage collector is near.
  local big = ("x"):rep(8e6)
  while true do
    pcall(function() return template.render(("{{ a | json }}"):rep(2e4), { a = 1 }) end)
  end
end)`)

let left = Number(values.rounds)
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    while (left > 0) {
      left -= 1
      await withPlugin(source, ({ recorder }) => recorder.logged('stopped, because').then(() => undefined), {
        callbackTime: 300,
      })
    }
  }),
)
console.log('all ended')
