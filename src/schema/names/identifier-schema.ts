import Type from 'typebox'
import { shortIdPattern } from './identifier.ts'

export const ShortId = Type.String({
  pattern: shortIdPattern.source,
  description: '1 to 64 of a-z, 0-9, ., _ and -, beginning with a letter or digit, without --',
})
export const FullId = Type.String({
  description: 'An id of the form @namespace/shortId',
  pattern: '^@(?![^/]*--)[a-z0-9][a-z0-9._-]{0,63}/(?!.*--)[a-z0-9][a-z0-9._-]{0,63}$',
})
