/** What a part of a name ends with when it names a secret; `auth`, and not `author`. */
const secretWord = '(token|password|passwd|passphrase|pass|secret|key|auth|credentials?|pin)'
const secretEnding = new RegExp(`${secretWord}$`, 'i')
/** Most names have none of these words, and need not be split: settings may have tens of thousands. */
const secretPart = new RegExp(secretWord, 'i')

/**
 * Whether a key names something secret (contract, section 3, "Config check"). It is split at whatever is neither
 * letter nor digit, and before capitals (those of `MQTT` stay together), and one part must end with a word for a
 * secret: `apiKey`, `wifikey`, `WIFI_PASSWORD`, `keyId`; not `author` or `keyboard_layout`.
 */
export function isSecretName(key: string): boolean {
  return secretPart.test(key) && partsOf(key).some((part) => secretEnding.test(part))
}

/** `myAPIKey` → my, API, Key. */
function partsOf(key: string): string[] {
  return key
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .split(/[^\p{L}\p{N}]+/u)
}

/** Anywhere in the name of a field of a log line, as plugins have always been promised. */
const secretWithin = /token|pass|secret|key|auth|bearer/i

/** Whether a field of this name is not meant for a log (plugin API, section 3): all of the above, and more. */
export function isSecretFieldName(name: string): boolean {
  return secretWithin.test(name) || isSecretName(name)
}
