// A reporter for node:test that writes the path of every file with a test that failed, a line each.
export default async function* failedFiles(events) {
  const told = new Set()
  for await (const { type, data } of events) {
    if (type !== 'test:fail' || data.todo !== undefined || data.file === undefined || told.has(data.file))
      continue
    told.add(data.file)
    yield `${data.file}\n`
  }
}
