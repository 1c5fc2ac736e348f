/** The value of an `Authorization` header for a user name and a password as an address has them: percent-encoded or not. */
export function basicAuthorization(user: string, password: string): string {
  return `Basic ${Buffer.from(`${decoded(user)}:${decoded(password)}`).toString('base64')}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A bare percent sign: then it stands for itself.
    return text
  }
}
