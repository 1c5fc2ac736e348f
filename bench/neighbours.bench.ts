import { report, type Round } from './figure.ts'
import { startHostStage } from './host-stage.ts'

// How long the callbacks of a plugin in a shared worker wait at most while its neighbour there does something without a pause.

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
/** What a plugin can do without a pause: Lua alone, functions of the library and of the host, and getters in steps. */
const loops = {
  'an endless loop': 'while true do end',
  'a loop of library calls': 'local s = string.rep("a", 5000) while true do s:byte(1, -1) end',
  'a loop of requests':
    'while true do plugin:httpRequest({ url = "http://127.0.0.1:1/" }, function() end) end',
  'ten thousand getters':
    'for number = 1, 10000 do plugin:sensor("s" .. number, function() return number end) end',
}

const measured: Round[][] = []
for (const loop of Object.values(loops)) {
  const looper = `plugin:mqttSubscribe("bench/loop", function() ${loop} end)`
  const pauses: Round[] = []
  for (let round = 0; round < rounds; round += 1) pauses.push(await pausesBeside(looper))
  measured.push(pauses)
}

/** Without it, and beside it. */
async function pausesBeside(looper: string): Promise<Round> {
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
    return { value: await longestPause(), floor }
  } finally {
    await stage.close()
  }
}

report(
  import.meta.filename,
  Object.keys(loops).map((name, index) => ({
    name: `a neighbour's longest pause beside ${name} in a shared worker, above that without it`,
    unit: 'ms',
    wanted: index === 0 ? '≤ 20 ms' : '–',
    rounds: measured[index] ?? [],
    compared: 'difference' as const,
  })),
)
