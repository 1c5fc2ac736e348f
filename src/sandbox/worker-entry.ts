/** The file a worker starts from: the bundle beside the host's own, or a bootstrap for the TypeScript source. */
export function workerEntry(): URL {
  const fromSource = import.meta.url.endsWith('.ts')
  return new URL(fromSource ? './worker/bootstrap.mjs' : './worker.js', import.meta.url)
}
