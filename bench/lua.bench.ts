import { startBareLua } from './bare-lua.ts'
import { report, type Round } from './figure.ts'
import { startHostStage } from './host-stage.ts'

// What plugins compute, of the Lua machine that they run on as it comes from its makers, in a bare worker.

const rounds = 15
/** Before V8 has compiled what the program passes. */
const warmUp = 10

/** Some tens of milliseconds each. */
const programs = {
  'calls of functions and methods': `
    local function fibonacci(n) if n < 2 then return n end return fibonacci(n - 1) + fibonacci(n - 2) end
    fibonacci(18)
    local counter = { count = 0 }
    function counter:add(more) self.count = self.count + more return self end
    for i = 1, 10000 do counter:add(i):add(math.floor(i / 2)) end
    local sum = 0
    for i = 1, 5000 do sum = sum + (function(x) return x + i end)(i) end`,
  'loops over tables': `
    local list, sum = {}, 0
    for i = 1, 20000 do list[i] = i * 0.5 end
    for i = 1, #list do sum = sum + list[i] end
    for _, value in ipairs(list) do sum = sum + value end
    local named = {}
    for i = 1, 2000 do named["key" .. i] = i end
    for _, value in pairs(named) do sum = sum + value end`,
  'work on strings': `
    local parts = {}
    for i = 1, 2000 do parts[#parts + 1] = string.format("%d:%s", i, tostring(i * 2)):upper() end
    local text = table.concat(parts, ",")
    for word in text:gmatch("[^,]+") do parts[word] = #word end`,
}
const names = Object.keys(programs) as (keyof typeof programs)[]

const plugins = Object.fromEntries(
  names.map((name, index) => [
    `computes-${index}`,
    `plugin:mqttSubscribe("bench/compute/${index}", function()
      local begun = os.clock()
      ${programs[name]}
      plugin:mqttPublish("bench/took/${index}", tostring((os.clock() - begun) * 1e3))
    end)`,
  ]),
)
const stage = await startHostStage(plugins, { HOST_ISOLATION: 'dedicated' })
const bare = await Promise.all(names.map((name) => startBareLua(programs[name])))
const found = names.map((): Round[] => [])

async function inPlugin(index: number): Promise<number> {
  const took = await stage.next(`bench/took/${index}`)
  await stage.client.publishAsync(`bench/compute/${index}`, '')
  return Number(await took.message)
}

try {
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const [index, machine] of bare.entries()) {
      const figures = { value: await inPlugin(index), floor: await machine.run() }
      if (round >= 0) found[index]?.push(figures)
    }
  }
} finally {
  await Promise.all([stage, ...bare].map((each) => each.close()))
}
report(
  import.meta.filename,
  names.map((name, index) => ({
    name: `${name} in a plugin, time of that with fengari as it is`,
    unit: 'ms',
    wanted: '–',
    rounds: found[index] ?? [],
  })),
)
