const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers at its address; check that the server runs, and its port',
  ENOTFOUND: 'its host name is not known; check its address and the DNS',
  EAI_AGAIN: 'its host name cannot be looked up now; check the network',
  ENETUNREACH: 'there is no way to its network; check the network',
  EHOSTUNREACH: 'there is no way to its computer; check the network',
  ETIMEDOUT: 'its computer does not answer; check its address',
}

/** Why a server cannot be reached, and what to do, by the code of the system's error; undefined: it was something else. */
export const unreachableReason = (code: string | undefined): string | undefined => words[code ?? '']
