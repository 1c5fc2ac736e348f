/** What a POSIX shell does something with between double quotes, and an interactive one, too. */
const expanded = /[$`"\\!]/

/** The command that gives a directory, with all that is in it, to a user; by default to that of this process. */
export function chownCommand(
  directory: string,
  user: { uid: number | undefined; gid: number | undefined } = {
    uid: process.getuid?.(),
    gid: process.getgid?.(),
  },
): string {
  return `chown -R ${user.uid ?? 'USER'}:${user.gid ?? 'GROUP'} ${quotedPath(directory)}`
}

function quotedPath(path: string): string {
  return expanded.test(path) ? `'${path.replaceAll("'", String.raw`'\''`)}'` : JSON.stringify(path)
}
