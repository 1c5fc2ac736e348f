/** What stands in place of something secret. */
export const mask = '***'
/** Characters of a secret value that are shown, so that a person can tell one token from another. */
const shownPrefix = 5
/** Up to this many characters a value is hidden whole: its first five would be most of it. */
const wholeLimit = 8
/** Shorter secrets are not searched for in log lines: hiding every `1` would leave nothing to read. */
const searchableSecretLength = 3

const secretFieldName = /token|pass|secret|key|auth|bearer/i
// The length of the scheme is bounded, or a long word without one would cost quadratic time.
const credentialsInUrl = /([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#@:]*:[^\s/?#]*@/gi

/** Whether a field of this name is not meant for a log. (`pass` covers `password`.) */
export function isSecretFieldName(name: string): boolean {
  return secretFieldName.test(name)
}

export function maskValue(text: string): string {
  const characters = [...text]
  return characters.length <= wholeLimit ? mask : `${characters.slice(0, shownPrefix).join('')}${mask}`
}

/** Hides the values of secret fields, and credentials in URLs, wherever they are in a text. */
export interface Redactor {
  redact(text: string): string
  /** From now on this text is hidden too. */
  hide(secret: string): void
}

export function createRedactor(secrets: readonly string[]): Redactor {
  const hidden = new Set<string>()
  /** Longest first, so that a secret within another does not leave the rest of it readable. */
  let ordered: string[] = []
  function hide(secret: string): void {
    if (secret.length < searchableSecretLength || hidden.has(secret)) return
    for (const form of [secret, percentEncoded(secret), JSON.stringify(secret).slice(1, -1)]) {
      hidden.add(form)
    }
    ordered = [...hidden].sort((a, b) => b.length - a.length)
  }
  for (const secret of secrets) hide(secret)
  return {
    hide,
    redact(text) {
      let redacted = text.replace(credentialsInUrl, `$1${mask}@`)
      for (const secret of ordered) redacted = redacted.replaceAll(secret, mask)
      return redacted
    },
  }
}

/** As it stands in a query; without lone surrogates, which have no encoding. */
function percentEncoded(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString())
}
