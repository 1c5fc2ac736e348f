import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Bytes that processes can still get, swap included, before the system kills one of them; and bytes there are in all. */
export interface AvailableMemory {
  available: number
  total: number
}

const kibibyte = 1024
/** The first version of control groups says so many bytes or more where there is no limit. */
const unlimited = 2 ** 60

/**
 * Reads what is left of the machine's memory, or of what its control group lets this process have: a container, a service with a
 * limit. A read takes some 0.1 ms. It answers undefined where the system does not say; Linux alone does.
 *
 * `root`: where `/proc` and `/sys` are. Source: `proc_meminfo(5)`, and the kernel's pages on control groups.
 */
export function createAvailableMemory(root = '/'): () => AvailableMemory | undefined {
  const groups = limitedGroups(root)
  return () => {
    const machine = memoryOfMachine(root)
    if (machine === undefined) return undefined
    const all = [machine, ...groups.map((group) => group(machine.swap)).filter((one) => one !== undefined)]
    return {
      available: Math.min(...all.map(({ available }) => available)),
      total: Math.min(...all.map(({ total }) => total)),
    }
  }
}

function memoryOfMachine(root: string): (AvailableMemory & { swap: number }) | undefined {
  const sizes = readNumbers(join(root, 'proc/meminfo'), /^(\w+): +(\d+) kB$/gm)
  const [free, total] = [sizes.get('MemAvailable'), sizes.get('MemTotal')]
  if (free === undefined || total === undefined) return undefined
  const swap = (sizes.get('SwapFree') ?? 0) * kibibyte
  return { available: free * kibibyte + swap, total: total * kibibyte, swap }
}

type GroupMemory = (freeSwap: number) => AvailableMemory | undefined

/** The groups that this process is in, from its own up to the root. In a container the way there may be that of the machine. */
function limitedGroups(root: string): GroupMemory[] {
  const groups: GroupMemory[] = []
  for (const line of read(join(root, 'proc/self/cgroup'))?.split('\n') ?? []) {
    const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    const isFirst = controllers.split(',').includes('memory')
    if (!isFirst && controllers !== '') continue
    const top = join(root, 'sys/fs/cgroup', isFirst ? 'memory' : '')
    for (let at = path; ; at = dirname(at)) {
      const directory = join(top, at)
      const isThere = existsSync(join(directory, isFirst ? 'memory.usage_in_bytes' : 'memory.current'))
      if (isThere) groups.push(isFirst ? groupOfFirstVersion(directory) : groupOfSecondVersion(directory))
      if (at === '/' || at === '.') break
    }
  }
  return groups
}

function groupOfSecondVersion(directory: string): GroupMemory {
  const size = (name: string): number | undefined => readNumber(join(directory, name))
  return (freeSwap) => {
    // Above `high` the group is slowed down until it gets nowhere.
    const total = Math.min(...['memory.max', 'memory.high'].map((name) => size(name) ?? Infinity))
    if (total === Infinity) return undefined
    const used = size('memory.current') ?? 0
    const swapped = size('memory.swap.current') ?? 0
    const swap = Math.min(freeSwap, Math.max(0, (size('memory.swap.max') ?? Infinity) - swapped))
    return { available: Math.max(0, total - used) + reclaimable(directory) + swap, total }
  }
}

function groupOfFirstVersion(directory: string): GroupMemory {
  const size = (name: string): number | undefined => readNumber(join(directory, `memory.${name}_in_bytes`))
  return (freeSwap) => {
    const total = size('limit')
    if (total === undefined || total >= unlimited) return undefined
    const left = Math.max(0, total - (size('usage') ?? 0)) + freeSwap
    const leftWithSwap = Math.max(0, (size('memsw.limit') ?? Infinity) - (size('memsw.usage') ?? 0))
    return { available: Math.min(left, leftWithSwap) + reclaimable(directory), total }
  }
}

/**
 * Bytes of files in memory that the system takes back before it kills anybody; of those in use, and of what it remembers of files and
 * directories, some half of them.
 */
function reclaimable(directory: string): number {
  const sizes = readNumbers(join(directory, 'memory.stat'), /^(?:total_)?(\w+) (\d+)$/gm)
  const size = (name: string): number => sizes.get(name) ?? 0
  return size('inactive_file') + (size('active_file') + size('slab_reclaimable')) / 2
}

/** A later line of a name counts, as the sums over a group and those below it come last. */
function readNumbers(path: string, lines: RegExp): Map<string, number> {
  const found = (read(path) ?? '').matchAll(lines)
  return new Map(Array.from(found, ([, name = '', value]) => [name, Number(value)]))
}

/** Undefined where there is none, as for `max`. */
function readNumber(path: string): number | undefined {
  const text = read(path)
  return text !== undefined && /^\d+\n?$/.test(text) ? Number(text) : undefined
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}
