import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import {
  createDeliveryWatchdog,
  queuedBytes,
  readUnderWay,
  systemTables,
} from '../../../src/outside/connections/delivery-watchdog.ts'
import { listen } from '../../helpers/listen.ts'
import { createManualClock, type ManualClock } from '../../helpers/manual-clock.ts'
import { until } from '../../helpers/until.ts'

const skip = process.platform === 'linux' ? false : 'only Linux says what is under way'
const minute = 60_000
/** Milliseconds between two looks. */
const look = 10_000

interface Stage {
  /** Of the plugin. */
  socket: Socket
  /** Its other side, which reads nothing by itself. */
  device: Socket
  failures: string[]
  clock: ManualClock
  /** How often the system has been asked. */
  looks(): number
  /** So much later; all looks until then have been made. */
  later(milliseconds: number): Promise<void>
  /** Writes more than the system takes. */
  fill(): void
}

async function startStage(t: TestContext, shown = (tables: string[]) => tables): Promise<Stage> {
  const server = createServer({ pauseOnConnect: true })
  const port = await listen(server)
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const [device] = await accepted
  t.after(() => {
    socket.destroy()
    device.destroy()
    server.close()
  })
  const clock = createManualClock()
  let looks = 0
  let looked: (() => void) | undefined
  const failures: string[] = []
  createDeliveryWatchdog({
    clock,
    async readTables() {
      const tables = shown(await systemTables())
      looks += 1
      setImmediate(() => looked?.())
      return tables
    },
  })(socket, (what) => {
    failures.push(what)
    socket.destroy()
  })
  return {
    ...{ socket, device, failures, clock, looks: () => looks },
    async later(milliseconds) {
      for (let passed = 0; passed < milliseconds && !socket.destroyed; passed += look) {
        const done = new Promise<void>((resolve) => (looked = resolve))
        clock.advance(look)
        await done
      }
    },
    fill: () => void socket.write(Buffer.alloc(64 * 1024 * 1024)),
  }
}

test('a connection whose other side takes nothing is given up after two minutes', { skip }, async (t) => {
  const { failures, later, fill } = await startStage(t)
  fill()
  await later(2 * minute - look)
  assert.deepEqual(failures, [])
  // The buffers of the system may have been filled some looks later: on a busy machine these are faster than that.
  for (let more = 0; more < 30 && failures.length === 0; more += 1) await later(minute)
  assert.deepEqual(failures, ['has taken nothing of what was written to it for 2 minutes'])
})

test('one whose other side takes little at a time, but goes on, is not', { skip }, async (t) => {
  const { socket, device, failures, later, fill } = await startStage(t)
  fill()
  for (let round = 0; round < 8; round += 1) {
    await takeSome(socket, device)
    await later(minute + 3 * look)
  }
  assert.deepEqual(failures, [])
})

test('one that takes as much as is given to the system meanwhile is not', { skip }, async (t) => {
  // As much is under way at each look.
  const { socket, device, failures, later, fill } = await startStage(t, (tables) =>
    tables.map((table) => table.replace(/ [0-9A-F]{8}:[0-9A-F]{8} /g, ' 00010000:00000000 ')),
  )
  fill()
  for (let round = 0; round < 4; round += 1) {
    await takeSome(socket, device)
    await later(minute + 3 * look)
  }
  assert.deepEqual(failures, [])
})

/** As much as makes a difference to the system, which tells of a window again by many segments. */
async function takeSome(socket: Socket, device: Socket): Promise<void> {
  const before = queuedBytes(socket)
  while (!socket.destroyed && queuedBytes(socket) === before)
    if (device.read() === null) await once(device, 'readable')
}

test(
  'who has nothing under way is not asked about, and who is silent is not given up',
  { skip },
  async (t) => {
    const { socket, device, clock, failures, later, looks } = await startStage(t)
    socket.write('on\n')
    await once(device.resume(), 'data')
    const key = `${socket.localPort}:${socket.remotePort}`
    await until('the acknowledgement', async () => readUnderWay(await systemTables()).get(key)?.bytes === 0)
    await later(look)
    const before = looks()
    clock.advance(10 * minute)
    assert.deepEqual({ failures, looks: looks() }, { failures: [], looks: before })
  },
)

test('a device that is lost is heard of while something is written to it', { skip }, async (t) => {
  const { status, stderr } = spawnSync('unshare', ['-rn', 'ip', 'link', 'set', 'lo', 'up'], {
    encoding: 'utf8',
  })
  if (status !== 0) {
    t.skip(`no network of its own can be made here: ${stderr}`)
    return
  }
  const program = join(import.meta.dirname, 'lost-device.ts')
  const lost = spawnSync('unshare', ['-rn', process.execPath, '--import', 'tsx', program], {
    encoding: 'utf8',
  })
  assert.equal(lost.stderr, '')
  assert.deepEqual(JSON.parse(lost.stdout), [
    { event: 'opened', session: 1 },
    { event: 'closed', final: true, reason: '127.0.0.1 does not answer what was written to it' },
  ])
})

test('what is under way is read as Linux lists it', () => {
  const head =
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode'
  const lines = [
    '   0: 0100007F:A021 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0000000000000000',
    '   1: 0100007F:D446 0200A8C0:A021 01 00000005:00000000 01:0000009E 00000004     0        0 2 3 0000000000000000',
    '   2: 0100007F:D447 0200A8C0:A021 01 00000A00:00000000 04:0000009E 00000002     0        0 2 3 0000000000000000',
    '   3: 0100007F:D446 0300A8C0:A021 01 00000003:00000000 01:0000009E 00000009     0        0 2 3 0000000000000000',
  ]
  assert.deepEqual(
    [...readUnderWay([[head, ...lines].join('\n'), ''])],
    [
      ['54342:40993', { bytes: 3, repetitions: 4 }],
      ['54343:40993', { bytes: 2_560, repetitions: 0 }],
    ],
  )
})
