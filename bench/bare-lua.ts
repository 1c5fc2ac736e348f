import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** A worker in which fengari, as it is, has compiled one chunk. */
export interface BareLua {
  /** Runs it once; milliseconds that it took. */
  run(): Promise<number>
  close(): Promise<unknown>
}

const program = `
const { parentPort, workerData } = require('node:worker_threads')
const { lua, lauxlib, lualib, to_luastring } = require('fengari')
const L = lauxlib.luaL_newstate()
lualib.luaL_openlibs(L)
if (lauxlib.luaL_loadstring(L, to_luastring(workerData)) !== lua.LUA_OK) throw new Error(lua.lua_tojsstring(L, -1))
parentPort.on('message', () => {
  const begun = performance.now()
  lua.lua_pushvalue(L, 1)
  if (lua.lua_pcall(L, 0, 0, 0) !== lua.LUA_OK) throw new Error(lua.lua_tojsstring(L, -1))
  parentPort.postMessage(performance.now() - begun)
})
`

export async function startBareLua(chunk: string): Promise<BareLua> {
  const worker = new Worker(program, { eval: true, workerData: chunk })
  await once(worker, 'online')
  return {
    async run() {
      worker.postMessage(undefined)
      const [milliseconds] = (await once(worker, 'message')) as [number]
      return milliseconds
    },
    close: () => worker.terminate(),
  }
}
