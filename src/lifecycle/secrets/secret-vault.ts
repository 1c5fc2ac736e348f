import { isJsonObject, mapMembers } from '../../base/text/json.ts'
import { type KeyRing, keyIdOf, looksSealed, SecretKeyError } from '../../base/keys/key-ring.ts'
import { messageOf } from '../../base/problem.ts'
import type { Vault } from '../../journal/vault.ts'
import { jsonDepthLimit } from '../../schema/parsing/json-text.ts'
import { escapePointer } from '../../schema/parsing/json-pointer.ts'
import { type Place, placeOfItem, placeOfMember, wholeConfig } from './secret-places.ts'
import { isEmpty, withoutCredentials } from './secrets.ts'

/** Encrypted values that are remembered, so that a file does not change where its content does not. */
const rememberedLimit = 10_000

/**
 * Encrypts the secret values of configurations, each for its plugin and key, and addresses that hold a
 * password. A plain text that looks encrypted gets one more `$` in front, with and without a key.
 * `placeOf`: a plugin's configuration as a whole; undefined when its manifest is not known: every text and number may be a secret then.
 */
export function createSecretVault(ring: KeyRing, placeOf: (plugin: string) => Place | undefined): Vault {
  const [current] = ring.ids
  /** Sealed text by context and content. */
  const remembered = new Map<string, string>()

  function remember(context: string, text: string, sealed: string): void {
    if (remembered.size >= rememberedLimit) remembered.clear()
    remembered.set(`${context}\n${text}`, sealed)
  }

  function sealText(context: string, text: string): string {
    const known = remembered.get(`${context}\n${text}`)
    if (known !== undefined) return known
    const sealed = ring.seal(context, text)
    remember(context, text, sealed)
    return sealed
  }

  function openText(context: string, written: string, place: string): string {
    if (!looksSealed(written)) return unescaped(written)
    try {
      const text = ring.open(context, written)
      if (keyIdOf(written) === current) remember(context, text, written)
      return text
    } catch (error) {
      if (error instanceof SecretKeyError) {
        throw new SecretKeyError(`${error.message} The first that needs it is ${place}.`, { cause: error })
      }
      throw new Error(`${place} cannot be decrypted: ${messageOf(error)}`, { cause: error })
    }
  }

  const contextOf = (plugin: string, path: string): string => `config ${plugin} ${path}`

  function sealValue(plugin: string, path: string, value: unknown, place: Place, depth: number): unknown {
    if (current !== undefined && !isEmpty(value) && (place.secret || depth > jsonDepthLimit)) {
      return sealText(contextOf(plugin, path), JSON.stringify(value))
    }
    if (typeof value === 'string') return escaped(value)
    if (Array.isArray(value)) {
      return value.map((item) => sealValue(plugin, `${path}/*`, item, placeOfItem(place), depth + 1))
    }
    if (!isJsonObject(value)) return value
    return mapMembers<unknown>(value, (member, key) =>
      sealValue(plugin, pointer(path, key), member, placeOfMember(place, key, member), depth + 1),
    )
  }

  function openValue(plugin: string, path: string, value: unknown): unknown {
    if (typeof value === 'string') {
      if (!looksSealed(value)) return unescaped(value)
      return JSON.parse(openText(contextOf(plugin, path), value, `the value ${path} of ${plugin}`))
    }
    if (Array.isArray(value)) return value.map((item) => openValue(plugin, `${path}/*`, item))
    if (!isJsonObject(value)) return value
    return mapMembers<unknown>(value, (member, key) => openValue(plugin, pointer(path, key), member))
  }

  return {
    seal: {
      config(plugin, config) {
        const whole = placeOf(plugin)
        return mapMembers(config, (value, key) => {
          const place = placeOfMember(whole ?? wholeConfig([]), key, value)
          const secret = whole === undefined ? typeof value !== 'boolean' : place.secret
          return sealValue(plugin, pointer('', key), value, { ...place, secret }, 1)
        })
      },
      hookSecret: (plugin, text) =>
        current === undefined ? escaped(text) : sealText(`hookSecret ${plugin}`, text),
      address(repository, address) {
        const hasPassword = withoutCredentials(address) !== address
        if (current !== undefined && hasPassword) return sealText(`repository ${repository}`, address)
        return escaped(address)
      },
    },
    open: {
      config: (plugin, config) =>
        mapMembers(config, (value, key) => openValue(plugin, pointer('', key), value)),
      hookSecret: (plugin, text) => openText(`hookSecret ${plugin}`, text, `the hookSecret of ${plugin}`),
      address: (repository, address) =>
        openText(`repository ${repository}`, address, `the address of the repository ${repository}`),
    },
  }
}

/** Items of lists have no name, and a person may reorder them: they share one place. */
function pointer(path: string, key: string): string {
  return `${path}/${escapePointer(key)}`
}

/** A text that looks sealed, or would without the `$` that it begins with. */
function isGuarded(text: string): boolean {
  for (let start = 0; ; start += 1) {
    if (looksSealed(text.slice(start))) return true
    if (text[start] !== '$') return false
  }
}

function escaped(text: string): string {
  return isGuarded(text) ? `$${text}` : text
}

/** Only for a text that does not look sealed itself. */
function unescaped(text: string): string {
  return text.startsWith('$') && isGuarded(text.slice(1)) ? text.slice(1) : text
}
