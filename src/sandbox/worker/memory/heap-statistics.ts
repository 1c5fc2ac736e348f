import type { HeapInfo } from 'node:v8'
import { lazily } from '../../../base/lazily.ts'

/** Loaded with the first look, seconds after the start: it takes a worker as long as a small plugin. */
const v8 = lazily(() => globalThis.process.getBuiltinModule('node:v8'))

export const heapStatistics = (): HeapInfo => v8().getHeapStatistics()
