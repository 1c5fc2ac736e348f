import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { linuxPorts } from '../../../src/outside/serial/linux-ports.ts'
import { openSerialPort } from '../../../src/outside/serial/open-serial-port.ts'
import { terminalKind, refuseSerialPath } from '../../../src/outside/serial/serial-path.ts'
import { createSerialEcho, createSerialPair } from '../../helpers/serial-pair.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { printedBy, withOutside } from '../outside-stage.ts'
import { pluginSource } from '../stage.ts'

test('§15 a serial port carries bytes both ways, and falls into frames where nothing comes for a while', async (t) => {
  const { path, port } = await createSerialPair(t)
  port.on('data', (data: Buffer) => {
    // Two frames, the first in two parts; the second once that one has ended, of which only silence tells.
    if (data.includes('?')) {
      port.write(Buffer.from([1, 255]))
      port.write(Buffer.from([0]))
    }
    if (data.includes('!')) port.write('second')
  })
  const lines = await printedBy(
    pluginSource(`
      plugin:onInit(function()
        local seen = 0
        local port = plugin:serialPort("${path}", { baudRate = 19200, parity = "even", stopBits = 2, framing = { silence = 150 } })
        print(port:isConnected(), port:write("early"))
        port:onConnect(function() print(port:isConnected(), port:write("\\1?") == port) end)
        port:onData(function(data)
          seen = seen + 1
          if seen == 1 then print(data:byte(1, -1)) port:write("!") else print(data) print("done") end
        end)
      end)
    `),
  )
  assert.deepEqual(lines, ['false\tfalse\tnot connected', 'true\ttrue', '1\t255\t0', 'second'])
})

test('what comes on a serial port arrives at once, although nothing else wakes the host', async (t) => {
  const path = await createSerialEcho(t)
  const port = await openSerialPort({ path, baudRate: 9_600, dataBits: 8, parity: 'none', stopBits: 1 })
  // The deadline is the only other thing that would wake it.
  const answered = once(port, 'data', { signal: AbortSignal.timeout(5_000) })
  port.write('ping')
  try {
    assert.deepEqual(await answered, [Buffer.from('ping')])
  } finally {
    await new Promise((resolve) => port.close(resolve))
  }
})

test('a serial port that is closed while it is being read asks nothing of its poller, which is gone then', async (t) => {
  const { path } = await createSerialPair(t)
  const port = await openSerialPort({ path, baudRate: 9_600, dataBits: 8, parity: 'none', stopBits: 1 })
  const { port: binding } = port
  assert.ok(binding && 'poller' in binding)
  const reads: Promise<unknown>[] = []
  const read = binding.read.bind(binding)
  binding.read = (...given) => {
    const reading = read(...given)
    reads.push(reading.catch((error: unknown) => error))
    return reading
  }
  const once = binding.poller.once.bind(binding.poller)
  binding.poller.once = (...given) => {
    // Really asked, it would end the process.
    if (binding.fd === null) throw new Error('the poller is gone')
    return once(...given)
  }
  port.on('data', () => undefined)
  // It is read from the next tick on, and what comes of that is told in a later turn.
  await new Promise<void>((resolve) => process.nextTick(resolve))
  assert.equal(reads.length, 1)
  await new Promise((resolve) => port.close(resolve))
  assert.deepEqual(await Promise.all(reads), [
    Object.assign(new Error('the port is closed'), { canceled: true }),
  ])
})

test('§15 a serial port that is pulled out is told, and looked for again', async (t) => {
  const { path, port, pull } = await createSerialPair(t)
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        local port = plugin:serialPort("${path}", { framing = "line", reconnect = { min = 50, max = 100 } })
        port:onData(function(line) print("line " .. line) end)
        port:onConnect(function() port:write("hello\\n") end)
        local told = {}
        port:onClose(function(err)
          if not told[err] then print("closed", err) end
          told[err] = true
        end)
      end)
    `),
    async ({ recorder, outside }) => {
      await new Promise((resolve) => port.once('data', resolve))
      port.write('one\r\ntwo\n')
      await recorder.logged('line two')
      assert.deepEqual(
        recorder.logs().filter((line) => line.includes('line ')),
        ['info line one', 'info line two'],
      )
      await pull()
      await recorder.logged(`closed\t${path}`)
      await recorder.logged(`closed\t${path} is not there`)
      const [view] = outside.connections('@test/probe')
      assert.deepEqual(
        [view?.kind, view?.target, view?.lastError, view?.bytesIn, view?.bytesOut],
        ['serial', path, `${path} is not there`, 9, 6],
      )
    },
  )
})

test('§15 a serial port that is pulled out in the midst of what it brings is told', async (t) => {
  // Whether anything has come that nobody has read yet is by chance.
  for (let round = 0; round < 10; round += 1) {
    const { path, port, pull } = await createSerialPair(t)
    await withOutside(
      pluginSource(`
        plugin:onInit(function()
          local port = plugin:serialPort("${path}", { framing = "line", reconnect = false })
          port:onConnect(function() port:write("go") end)
          local lines = 0
          port:onData(function()
            lines = lines + 1
            if lines == 100 then print("flows") end
          end)
          port:onClose(function(err) print("closed", err) end)
        end)
      `),
      async ({ recorder }) => {
        await new Promise((resolve) => port.once('data', resolve))
        const send = (error?: Error | null): void => {
          if (error == null) port.write('it goes on and on\n'.repeat(50), send)
        }
        send()
        await recorder.logged('flows')
        await pull()
        await recorder.logged(`closed\t${path} is gone`)
      },
    )
  }
})

test('§15 what is no serial port is not opened, and options that make no sense are told', async (t) => {
  const { path } = await createSerialPair(t)
  const lines = await printedBy(
    pluginSource(`
      local left = 6
      local function try(name, path, options)
        plugin:serialPort(path, options):onClose(function(err)
          print(name, err)
          left = left - 1
          if left == 0 then print("done") end
        end)
      end
      plugin:onInit(function()
        try("1", "/dev/null")
        try("2", "/etc/passwd")
        try("3", "/dev/tty")
        try("4", "${path}", { parity = "strange" })
        try("5", "${path}", { baudRate = 0 })
        try("6", "forbidden")
      end)
    `),
    { allowed: { serial: (wanted) => (wanted === 'forbidden' ? 'not allowed' : undefined) } },
  )
  assert.deepEqual(lines.sort(), [
    '1\t/dev/null is no serial port',
    '2\t/etc/passwd is no serial port',
    '3\t/dev/tty is no serial port',
    '4\tparity must be one of none, even, odd, mark, space',
    '5\tbaudRate must be a whole number from 1 to 20000000',
    '6\tnot allowed',
  ])
})

test('§15 a port is one connection’s alone, and free again when the plugin has ended', async (t) => {
  const { path } = await createSerialPair(t)
  const source = pluginSource(`
    plugin:onInit(function()
      plugin:serialPort("${path}"):onConnect(function()
        plugin:serialPort("${path}", { reconnect = false }):onClose(function(err) print("second", err) end)
      end)
    end)
  `)
  for (let time = 0; time < 2; time += 1) {
    await withOutside(source, async ({ recorder, isolate, outside }) => {
      await recorder.logged(`second\t${path} is in use`)
      await isolate.unload()
      assert.deepEqual(outside.connections('@test/probe'), [])
    })
  }
})

test('§15 the serial ports of the host are listed', async () => {
  const lines = await printedBy(
    pluginSource(`
      plugin:onInit(function()
        plugin:serialPorts(function(ports, err)
          local all = {}
          for _, port in ipairs(ports) do all[#all + 1] = port.path end
          print(type(ports), err, #all == #ports)
          print("done")
        end)
      end)
    `),
  )
  assert.deepEqual(lines, ['table\tnil\ttrue'])
})

test('what a USB device says of itself is told, and ports without a chip are left out', async (t) => {
  const root = await temporaryDirectory(t)
  const files: Record<string, string> = {
    'usb/idVendor': '0403',
    'usb/idProduct': '6001',
    'usb/manufacturer': 'FTDI',
    'usb/1-1:1.0/ttyUSB0/x': '',
    'chip/x': '',
    'class/ttyS0/type': '4',
    'class/ttyS1/type': '0',
    'class/tty1/dev': '4:1',
  }
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, file)), { recursive: true })
    await writeFile(join(root, file), `${text}\n`)
  }
  await mkdir(join(root, 'class/ttyUSB0'))
  await symlink(join(root, 'usb/1-1:1.0/ttyUSB0'), join(root, 'class/ttyUSB0/device'))
  for (const name of ['ttyS0', 'ttyS1'])
    await symlink(join(root, 'chip'), join(root, 'class', name, 'device'))
  const ports = await linuxPorts(join(root, 'class'))
  assert.deepEqual(
    ports.sort((one, other) => (one.path < other.path ? -1 : 1)),
    [
      { path: '/dev/ttyS0' },
      { path: '/dev/ttyUSB0', vendorId: '0403', productId: '6001', manufacturer: 'FTDI' },
    ],
  )
  assert.deepEqual(await linuxPorts(join(root, 'nowhere')), [])
})

const drivers = [
  '/dev/tty             /dev/tty        5       0 system:/dev/tty',
  'unknown              /dev/tty        4 1-63 console',
  'serial               /dev/ttyS       4      64-95 serial',
  'usbserial            /dev/ttyUSB   188 0-511 serial',
  'pty_slave            /dev/pts      136 0-1048575 pty:slave',
].join('\n')

test('the kind of a terminal is read off the drivers of the system', () => {
  const cases: [major: number, minor: number, kind: string | undefined][] = [
    [5, 0, 'system:/dev/tty'],
    [4, 1, 'console'],
    [4, 63, 'console'],
    [4, 64, 'serial'],
    [188, 3, 'serial'],
    [188, 512, undefined],
    [136, 100_000, 'pty:slave'],
    [10, 130, undefined],
  ]
  for (const [major, minor, kind] of cases) assert.equal(terminalKind(drivers, { major, minor }), kind)
  assert.equal(terminalKind('', { major: 4, minor: 64 }), undefined)
})

test('a terminal that somebody types at is nobody’s serial port', async (t) => {
  const { path } = await createSerialPair(t)
  assert.equal(await refuseSerialPath(path), undefined)
  assert.match(readFileSync('/proc/tty/drivers', 'utf8'), /pty:slave/)
  // A session of its own, which opens the terminal: it is its controlling one then.
  const owner = spawn('setsid', ['sh', '-c', `exec <"${path}"; echo begun >&2; read line`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.after(() => owner.kill())
  await new Promise((resolve) => owner.stderr.once('data', resolve))
  assert.deepEqual(await refuseSerialPath(path), {
    reason: `${path} is the terminal of a running program`,
    isTransient: true,
  })
})
