import { report, type Round } from './figure.ts'
import { startHostStage } from './host-stage.ts'

// How long the callbacks of a plugin in a shared worker wait at most while its neighbour there runs an endless loop.

const rounds = 5

/** Says the longest pause between two of its callbacks in three seconds, in milliseconds. */
const watcher = `
plugin:mqttSubscribe("bench/watch", function()
  local from, last, longest, timer = os.clock(), os.clock(), 0, nil
  timer = plugin:setInterval(1, function()
    local now = os.clock()
    longest, last = math.max(longest, now - last), now
    if now - from < 3 then return end
    plugin:clearTimer(timer)
    plugin:mqttPublish("bench/paused", tostring(longest * 1000))
  end)
  plugin:mqttPublish("bench/watching", "yes")
end)
`
const looper = 'plugin:mqttSubscribe("bench/loop", function() while true do end end)'

const pauses: Round[] = []
for (let round = 0; round < rounds; round += 1) {
  // A new host each time: whoever has looped once may have been moved away.
  const stage = await startHostStage({ watcher, looper }, { HOST_ISOLATION: 'shared' })
  async function longestPause(): Promise<number> {
    const watching = await stage.next('bench/watching')
    const paused = await stage.next('bench/paused')
    await stage.client.publishAsync('bench/watch', '')
    await watching.message
    await stage.client.publishAsync('bench/loop', '')
    return Number(await paused.message)
  }
  try {
    await stage.post('/api/plugins/@bench/looper/toggle', { enabled: false })
    const floor = await longestPause()
    await stage.post('/api/plugins/@bench/looper/toggle', { enabled: true })
    pauses.push({ value: await longestPause(), floor })
  } finally {
    await stage.close()
  }
}
report(import.meta.filename, [
  {
    name: "a neighbour's longest pause beside an endless loop in a shared worker, above that without it",
    unit: 'ms',
    wanted: '≤ 20 ms',
    rounds: pauses,
    compared: 'difference',
  },
])
