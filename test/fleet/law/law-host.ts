import { systemClock } from '../../../src/base/time/clock.ts'
import { createElapsedTime } from '../../../src/base/time/elapsed-time.ts'
import { systemFileSystem } from '../../../src/base/files/file-system.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { createExternalBus } from '../../../src/bus/external/external-bus.ts'
import { takeOverClient } from '../../../src/bus/external/take-over.ts'
import { createLeaseKeeper } from '../../../src/fleet/leases/lease-keeper.ts'
import { nameProcess } from '../../../src/fleet/leases/process-name.ts'
import { sessionClientId } from '../../../src/fleet/leases/records.ts'

/**
 * A host of a fleet in a process of its own, whose plugins count: each publishes its epoch, its session and a number, twenty
 * times a second. It is ended by a signal; the test that starts it sees it through the broker alone.
 */

export interface LawHostOptions {
  store: string
  broker: string
  fleet: string
  host: string
  directory: string
  plugins: string[]
  /** How many hosts there are: the plugins are wanted when all have been seen, so that each gets some. */
  hosts: number
  /** What is to be found missing. */
  fence: boolean
}

/** What a plugin publishes on `law/<plugin>`. */
export interface LawAct {
  plugin: string
  host: string
  session: string
  epoch: number
  n: number
}

const actEvery = 50

const options: LawHostOptions = JSON.parse(process.argv[2] ?? '')
const { fleet, host, broker } = options
const [clock, logger] = [systemClock, silentLogger]
const counting = new Map<string, { epoch: number; timer: NodeJS.Timeout }>()
let session: string | undefined

const bus = createExternalBus({
  ...{ url: broker, root: 'law-fleet', logger, clock, random: () => 0 },
  statusTopic: `law-fleet/hosts/${host}/status`,
  session: {
    clientId: () =>
      session !== undefined && keeper.maySpeak() ? sessionClientId(fleet, host, session) : undefined,
    permit(publisher) {
      if (publisher === undefined) return () => keeper.maySpeak()
      const epoch = counting.get(publisher)?.epoch ?? 0
      return () => keeper.mayAct(publisher, epoch)
    },
  },
})

function wantAll(): void {
  const { wanted, hosts } = keeper.state
  if (wanted.size === 0 && hosts.size >= options.hosts)
    keeper.want(new Map(options.plugins.map((plugin) => [plugin, {}])))
}

function end(plugin: string): void {
  clearInterval(counting.get(plugin)?.timer)
  counting.delete(plugin)
}

const keeper = createLeaseKeeper({
  address: { servers: [options.store], name: host },
  ...{ fleet, host, clock, logger, elapsed: createElapsedTime() },
  name: await nameProcess(systemFileSystem, options.directory, logger),
  actions: {
    sessionBegan(name) {
      session = name
      bus.renew()
    },
    sessionOver() {
      session = undefined
      bus.renew()
    },
    start(plugin, epoch) {
      end(plugin)
      let n = 0
      const act = (): void => {
        n += 1
        const done: LawAct = { plugin, host, session: session ?? '', epoch, n }
        void bus.publish(`law/${plugin.slice(1)}`, JSON.stringify(done), {
          ...{ publisher: plugin, qos: n % 2 === 0 ? 0 : 1 },
        })
      }
      counting.set(plugin, { epoch, timer: setInterval(act, actEvery) })
    },
    async stop(plugin) {
      clearInterval(counting.get(plugin)?.timer)
      await bus.flush()
      counting.delete(plugin)
    },
    kill: (plugin) => end(plugin),
    async fence(of, ended) {
      if (options.fence) await takeOverClient(broker, sessionClientId(fleet, of, ended), clock)
    },
    flush: () => bus.flush(),
    changed: wantAll,
    failed(error) {
      console.error(error.message)
      process.exit(1)
    },
  },
})

let isEnding = false
process.on('SIGTERM', () => {
  isEnding = true
  void keeper
    .close()
    .then(() => bus.close())
    .then(() => process.exit(0))
})
await bus.start()
await keeper.open().catch((error: unknown) => {
  // One that is ended while it opens is not waited for.
  if (!isEnding) throw error
})
