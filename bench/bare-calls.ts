import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** Two bare workers, of which one calls the other by way of this thread and stands still until the answer is there. */
export interface BareCalls {
  /** Microseconds of the median of so many calls. */
  median(count: number): Promise<number>
  close(): Promise<unknown>
}

const callee = `
const { parentPort } = require('node:worker_threads')
parentPort.on('message', (call) => parentPort.postMessage({ call, value: 21.5 }))
`

const caller = `
const { parentPort, receiveMessageOnPort, workerData } = require('node:worker_threads')
const signal = new Int32Array(workerData.signal)
parentPort.on('message', (count) => {
  const times = []
  for (let call = 0; call < count; call += 1) {
    const begun = performance.now()
    const seen = Atomics.load(signal, 0)
    parentPort.postMessage({ call })
    while (receiveMessageOnPort(workerData.answers) === undefined) Atomics.wait(signal, 0, seen)
    times.push(performance.now() - begun)
  }
  times.sort((one, other) => one - other)
  parentPort.postMessage({ median: times[Math.floor(count / 2)] * 1000 })
})
`

export async function startBareCalls(): Promise<BareCalls> {
  const { port1: answers, port2: theirs } = new MessageChannel()
  const signal = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const workerData = { answers: theirs, signal: signal.buffer }
  const asked = new Worker(caller, { eval: true, workerData, transferList: [theirs as never] })
  const asking = new Worker(callee, { eval: true })
  let told: (microseconds: number) => void = () => undefined
  asked.on('message', (message: { call: number } | { median: number }) => {
    if ('median' in message) told(message.median)
    else asking.postMessage(message)
  })
  asking.on('message', (message) => {
    answers.postMessage(message)
    Atomics.add(signal, 0, 1)
    Atomics.notify(signal, 0)
  })
  await Promise.all([once(asked, 'online'), once(asking, 'online')])
  return {
    median: (count) =>
      new Promise((resolve) => {
        told = resolve
        asked.postMessage(count)
      }),
    close: () => Promise.all([asked.terminate(), asking.terminate()]),
  }
}
