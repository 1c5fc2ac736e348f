import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startHostProcess } from '../test/helpers/host-process.ts'
import { heldMegabytes } from './memory.ts'

/** A host with so many small plugins, all of them on. */
export interface ManyPlugins {
  /** Starts it, and ends it after `use`, which gets the address of its HTTP API and its process. */
  start(
    isolation: 'auto' | 'shared' | 'dedicated',
    use?: (http: string, pid: number) => Promise<void>,
  ): Promise<StartOfMany>
  close(): Promise<void>
}

export interface StartOfMany {
  /** From the start of the process until all plugins run. */
  milliseconds: number
  /** Processor time of the whole process by then. */
  processor: number
  megabytes: number
}

const plugin = (id: string): string => `
local plugin = Plugin:new("${id}")
local count = 0
plugin:onInit(function(config)
  plugin:upsertObject("state", { count = count })
  plugin:sensor("count", function() return count end)
  plugin:setInterval(60000, function() count = count + 1 end)
  plugin:on("bench:tick", function() count = count + 1 end)
end)
return plugin
`

/** Ticks of the kernel in a second, as `/proc` counts them. */
const ticks = 100

function processorTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return ((Number(fields[11]) + Number(fields[12])) / ticks) * 1000
}

export async function manyPlugins(count: number): Promise<ManyPlugins> {
  const directory = await mkdtemp(join(tmpdir(), 'lupine-bench-'))
  const ids = Array.from({ length: count }, (_unused, index) => `p${index}`)
  for (const id of ids) {
    const folder = join(directory, 'plugins', `bench--${id}`)
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'plugin.json'), JSON.stringify({ id, name: id, version: '1.0.0' }))
    await writeFile(join(folder, 'init.lua'), plugin(id))
  }
  const installed = ids.map((id) => ({ id: `@bench/${id}`, enabled: true, config: {} }))
  await writeFile(join(directory, '.host.json'), JSON.stringify({ version: 1, plugins: { installed } }))
  const start: ManyPlugins['start'] = async (isolation, use) => {
    const began = performance.now()
    const host = await startHostProcess(directory, { environment: { HOST_ISOLATION: isolation } })
    const milliseconds = performance.now() - began
    const pid = host.process.pid ?? 0
    const processor = processorTime(pid)
    const page = (await (await fetch(`${host.http}/api/plugins`)).json()) as { plugins: { state: string }[] }
    // By now it has given back what only the start needed.
    const result = { milliseconds, processor, megabytes: heldMegabytes(pid) }
    await use?.(host.http, pid)
    await host.stop('SIGTERM')
    const running = page.plugins.filter(({ state }) => state === 'running').length
    if (running !== count) throw new Error(`${running} of ${count} plugins run`)
    return result
  }
  // The first time they are taken over from the file.
  if (count > 0) await start('shared')
  return { start, close: () => rm(directory, { recursive: true, force: true }) }
}
