import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fillUpBroker } from './broker-scenario.ts'
import { fillUp, type SmallDisk } from './scenario.ts'

/**
 * Runs where a small file system has just been mounted, that nobody outside sees:
 * `node --import tsx inside-namespace.ts <mount point> <folder elsewhere> <host or broker>`.
 */
const [data = '', elsewhere = '', subject = ''] = process.argv.slice(2)
const filler = join(data, 'filler')
// Before the program writes anything of its own there, or a wrong folder is filled.
const { blocks, bsize } = await statfs(data)
if (blocks * bsize > 64 * 1024 * 1024) throw new Error(`${data} is no small file system`)

const disk: SmallDisk = {
  data,
  elsewhere,
  within: () => [],
  async fill() {
    const { bavail } = await statfs(data)
    await writeFile(filler, Buffer.alloc(bavail * bsize))
  },
  makeRoom: () => rm(filler, { force: true }),
  words: /disk of the data directory is full; free some space/,
}
const scenario = subject === 'broker' ? fillUpBroker : fillUp
await scenario(disk, (line) => void process.stdout.write(`${line}\n`))
process.stdout.write('all of it\n')
