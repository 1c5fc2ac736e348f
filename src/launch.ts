#!/usr/bin/env node
import * as modules from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Loads the program, compiled as the last start has left it: from version 22 on Node keeps that, if it is told so before the
 * program is read. Where the folder cannot be written to the program is compiled as ever.
 */
const { enableCompileCache } = modules as { enableCompileCache?: (directory: string) => unknown }
enableCompileCache?.(fileURLToPath(new URL('compile-cache', import.meta.url)))
await import('./main.ts')
