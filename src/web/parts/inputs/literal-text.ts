/** For what a program reads, such as a topic or an address: a phone puts no capital letter and no other word there. */
export const literalText = {
  autocomplete: 'off',
  autocapitalize: 'none',
  // False, in a form that Preact's types allow: what it sets is a property, for which the word `off` is true.
  autocorrect: '',
  spellcheck: false,
} as const
