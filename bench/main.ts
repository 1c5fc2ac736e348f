import { parseArgs } from 'node:util'
import { runLoad } from './load.ts'

// npm run build && npx tsx bench/main.ts [--mqtt 1000] [--http 200] [--minutes 10]; Linux only.

/** Says how it is called, and ends. */
function refuse(reason: string): never {
  console.error(`${reason}. For example: npx tsx bench/main.ts --mqtt 1000 --http 200 --minutes 10`)
  process.exit(2)
}

function readArguments(): Record<'mqtt' | 'http' | 'minutes', number> {
  try {
    const { values } = parseArgs({
      options: {
        mqtt: { type: 'string', default: '1000' },
        http: { type: 'string', default: '200' },
        minutes: { type: 'string', default: '10' },
      },
    })
    return { mqtt: Number(values.mqtt), http: Number(values.http), minutes: Number(values.minutes) }
  } catch (error) {
    return refuse(error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error))
  }
}

const { mqtt, http, minutes } = readArguments()
const counts = [mqtt, http]
if (!counts.every((count) => Number.isInteger(count) && count > 0) || !(minutes > 0)) {
  refuse('--mqtt, --http and --minutes must be numbers above 0')
}
const report = await runLoad({ mqttClients: mqtt, httpClients: http, seconds: minutes * 60 })
console.log(report)
const { errors, sent, received, files, memoryGrowth } = report
process.exitCode =
  errors.length === 0 && sent === received && files.after <= files.before && memoryGrowth < 1.1 ? 0 : 1
