import Type from 'typebox'

/** A public key of minisign in its own form: every text of this form is one. */
export const PublicKeyText = Type.String({
  pattern: '^RW[Q-T][A-Za-z0-9+/]{53}$',
  description: 'A public key of minisign: 56 characters that begin with RW',
})

/** Seconds since 1970 that the signer wrote into the trusted comment; only ever compared with one another. */
export const SigningTime = Type.Integer({ minimum: 0 })
