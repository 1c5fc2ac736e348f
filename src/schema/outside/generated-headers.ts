/** Headers that belong to the connection, and to the framing of the body: the host writes them. */
const generated = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Whether a plugin's header is not sent: with it a plugin would speak to another server, or in another's request. */
export function isGeneratedHeader(name: string, value: string): boolean {
  return generated.has(name.toLowerCase()) && !closesConnection(name, value)
}

/** `Connection: close` says nothing about anybody else: some small servers answer only to it. */
function closesConnection(name: string, value: string): boolean {
  return name.toLowerCase() === 'connection' && value.trim().toLowerCase() === 'close'
}
