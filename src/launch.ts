#!/usr/bin/env node
import '../scripts/require-node.mjs'
import * as modules from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Loads the program, compiled as the last start has left it: from version 22 on Node keeps that, if it is told so before the
 * program is read. Where the folder cannot be written to the program is compiled as ever. An old Node has to read this file, as
 * it does the one before.
 */
const { enableCompileCache } = modules as { enableCompileCache?: (directory: string) => unknown }
if (enableCompileCache !== undefined)
  enableCompileCache(fileURLToPath(new URL('compile-cache', import.meta.url)))
void import('./main.ts')
