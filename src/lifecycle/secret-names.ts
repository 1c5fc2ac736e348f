/** Words that make a key the name of a secret. */
const secretWord =
  /^(tokens?|passwords?|pass|passwd|passphrase|passcode|pwd|secrets?|keys?|auth|authorization|bearer|credentials?)$/

/** Words that people write in one: `bottoken`, `clientsecret`, `apikey`; but not `monkey` or `author`. */
const secretCompound =
  /(token|password|passwd|secret)s?$|^(api|app|access|client|private|secret|shared|master|license|account|signing|encryption)(key|auth|pass)s?$/

/**
 * Whether a configuration key names a token, password, secret, key or auth. It goes by the words of the key
 * (`apiKey`, `bot_token`, `WIFI_PASSWORD`), so that `keyboard`, `author` and `compass` stay readable.
 */
export function isSecretName(key: string): boolean {
  return wordsOf(key).some((word) => secretWord.test(word) || secretCompound.test(word))
}

/** `myAPIKey2` → my, api, key. */
function wordsOf(key: string): string[] {
  return key
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .split(/[^\p{L}]+/u)
    .map((word) => word.toLowerCase())
}
