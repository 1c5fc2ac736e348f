// A reporter for node:test that writes the path of every file with a test that failed, a line each.
// Of a test that has begun and does not end nothing is said by others: its name goes to the standard error, and how the
// process of its file ended.
export default async function* failedFiles(events) {
  const told = new Set()
  const running = new Map()
  const ends = []
  for await (const { type, data } of events) {
    // A file stands for itself, too, and its end is told only when it failed.
    if (type === 'test:dequeue' && data.name !== data.file) running.set(`${data.file}\n${data.name}`, data)
    if (type === 'test:pass' || type === 'test:fail') running.delete(`${data.file}\n${data.name}`)
    if (type !== 'test:fail' || data.todo !== undefined || data.file === undefined || told.has(data.file))
      continue
    told.add(data.file)
    if (data.name === data.file) ends.push(`The process of ${data.file} ended: ${endOf(data.details.error)}`)
    yield `${data.file}\n`
  }
  for (const end of ends) console.error(end)
  for (const { file, name } of running.values()) console.error(`Begun and not ended: "${name}" (${file})`)
}

function endOf({ signal, exitCode, cause }) {
  if (signal) return `by ${signal}`
  return typeof exitCode === 'number' ? `with exit code ${exitCode}` : String(cause)
}
