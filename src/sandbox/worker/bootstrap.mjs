// Starts the worker from its TypeScript source: a worker thread does not take a .ts file by itself.
import { register } from 'tsx/esm/api'

register()
await import('./main.ts')
