#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import * as modules from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Debian and Ubuntu have had older versions of Node for years, which do not even read the program. This file they have to read, from
 * Node 12 on: no `?.`, no `??`, no `await` outside of a function.
 */
function requireNode(): void {
  const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    engines: { node: string }
  }
  const [major = 0, minor = 0] = engines.node.replace(/^>=/, '').split('.').map(Number)
  const [presentMajor = 0, presentMinor = 0] = process.versions.node.split('.').map(Number)
  if (presentMajor > major || (presentMajor === major && presentMinor >= minor)) return
  process.stderr.write(
    `lupine: this is Node ${process.versions.node}, and Node ${major}.${minor} or newer is needed: install that, and run npm ci with it.\n`,
  )
  process.exit(1)
}

requireNode()

/**
 * Loads the program, compiled as the last start has left it: from version 22 on Node keeps that, if it is told so before the
 * program is read. Where the folder cannot be written to the program is compiled as ever.
 */
const { enableCompileCache } = modules as { enableCompileCache?: (directory: string) => unknown }
if (enableCompileCache !== undefined)
  enableCompileCache(fileURLToPath(new URL('compile-cache', import.meta.url)))
void import('./main.ts')
