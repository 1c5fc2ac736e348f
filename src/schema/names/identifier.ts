/** `[a-z0-9][a-z0-9._-]*`, 64 characters at most, without `--`, which separates the two parts in a directory name. */
const part = '(?!.*--)[a-z0-9][a-z0-9._-]{0,63}'
export const shortIdPattern = new RegExp(`^${part}$`)
const fullIdPattern = /^@([^/]*)\/([^/]*)$/

export interface PluginIdentifier {
  /** `@namespace/shortId` */
  fullId: string
  namespace: string
  shortId: string
}

export function isIdentifierPart(text: string): boolean {
  return shortIdPattern.test(text)
}

/** The parts of `@namespace/shortId`, or undefined when the text is not one. */
export function parseFullId(text: string): PluginIdentifier | undefined {
  const [, namespace, shortId] = fullIdPattern.exec(text) ?? []
  if (namespace === undefined || shortId === undefined) return undefined
  if (!isIdentifierPart(namespace) || !isIdentifierPart(shortId)) return undefined
  return { fullId: text, namespace, shortId }
}

/** The identifier of a full id that has been checked before. */
export function identifierOf(fullId: string): PluginIdentifier {
  const identifier = parseFullId(fullId)
  if (identifier === undefined) throw new TypeError(`Not a full plugin id: ${fullId}`)
  return identifier
}

/** Name of the plugin's directory below `plugins/`: `namespace--shortId`. */
export function directoryName({ namespace, shortId }: PluginIdentifier): string {
  return `${namespace}--${shortId}`
}

/** Full id of the plugin whose directory, or file, has this name; undefined: none has. */
export function pluginOfName(name: string): string | undefined {
  return parseFullId(`@${name.replace(/\.json$/, '').replace('--', '/')}`)?.fullId
}
