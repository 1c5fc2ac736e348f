/** What is shown for a secret that is stored, and is taken back as "it stays". */
export const hiddenValue = '********'
