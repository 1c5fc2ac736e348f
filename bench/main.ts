import { parseArgs } from 'node:util'
import { runLoad } from './load.ts'

// npm run build && npx tsx bench/main.ts [--mqtt 1000] [--http 200] [--minutes 10]; Linux only.

const { values } = parseArgs({
  options: {
    mqtt: { type: 'string', default: '1000' },
    http: { type: 'string', default: '200' },
    minutes: { type: 'string', default: '10' },
  },
})
const report = await runLoad({
  mqttClients: Number(values.mqtt),
  httpClients: Number(values.http),
  seconds: Number(values.minutes) * 60,
})
console.log(report)
const { errors, sent, received, files, memoryGrowth } = report
process.exitCode =
  errors.length === 0 && sent === received && files.after <= files.before && memoryGrowth < 1.1 ? 0 : 1
