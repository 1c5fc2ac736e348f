// Ends the process with one sentence where Node is older than the program needs. Debian and Ubuntu have had such versions for
// years, which do not even read the program. This file they have to read, from Node 12 on: a test
// names what it must not have.
import { readFileSync } from 'node:fs'

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const needed = engines.node.replace(/^>=/, '')
const [major, minor] = needed.split('.').map(Number)
const present = process.versions.node
const [presentMajor, presentMinor] = present.split('.').map(Number)
if (presentMajor < major || (presentMajor === major && presentMinor < minor)) {
  process.stderr.write(
    `lupine: this is Node ${present}, and Node ${major}.${minor} or newer is needed: install that, and run npm ci with it.\n`,
  )
  process.exit(1)
}
