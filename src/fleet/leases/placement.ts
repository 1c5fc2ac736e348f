/** Which host is to run a plugin that nobody runs. Every host comes to the same answer from the same facts. */

/** What a plugin asks of its host. */
export interface Placement {
  readonly host?: string
  readonly labels?: readonly string[]
  /** Plugins with the same name here share a host. */
  readonly together?: string
  /** The last epoch that the journal knows: the next one is above it, whatever the lease says. */
  readonly after?: number
}

/** What a host has to offer; `plugins` is how many it runs. */
export interface Candidate {
  readonly id: string
  readonly labels: readonly string[]
  readonly draining: boolean
  readonly plugins: number
  /** It has no connection to the broker, so that its plugins hear nothing and say nothing. */
  readonly withoutBroker?: boolean
  /** Its disk refuses what it would have to write down of a plugin that it takes. */
  readonly isFull?: boolean
}

export function isEligible(
  placement: Placement,
  candidate: Omit<Candidate, 'plugins' | 'withoutBroker' | 'isFull'>,
): boolean {
  const { host, labels = [] } = placement
  if (candidate.draining || (host !== undefined && host !== candidate.id)) return false
  return labels.every((label) => candidate.labels.includes(label))
}

/** Of the hosts that may, the one with the fewest plugins; of several the first by name. One without a broker, or with a full disk, comes last. Undefined: none may. */
export function chooseHost(placement: Placement, candidates: readonly Candidate[]): string | undefined {
  let best: Candidate | undefined
  for (const candidate of candidates) {
    if (!isEligible(placement, candidate)) continue
    if (best !== undefined && !isBefore(candidate, best)) continue
    best = candidate
  }
  return best?.id
}

const isImpaired = ({ withoutBroker, isFull }: Candidate): boolean =>
  withoutBroker === true || isFull === true

function isBefore(left: Candidate, right: Candidate): boolean {
  const [isLeftImpaired, isRightImpaired] = [isImpaired(left), isImpaired(right)]
  if (isLeftImpaired !== isRightImpaired) return isRightImpaired
  return left.plugins < right.plugins || (left.plugins === right.plugins && left.id < right.id)
}

/** Plugins that share a host, by the name of their group: where they belong already, and what all of them ask for. */
export interface Groups {
  readonly homes: ReadonlyMap<string, string>
  readonly groups: ReadonlyMap<string, readonly (readonly [plugin: string, Placement])[]>
}

/** Hosts on which all of these may run. */
export function fitForAll(
  members: readonly (readonly [plugin: string, Placement])[],
  candidates: readonly Candidate[],
): Candidate[] {
  return candidates.filter((candidate) => members.every(([, placement]) => isEligible(placement, candidate)))
}

/**
 * Hosts for all of these plugins, each as if those before it ran there already. Those that share a host get one on which all
 * of them may run, if there is one.
 */
export function chooseHosts(
  plugins: Iterable<readonly [string, Placement]>,
  candidates: readonly Candidate[],
  { homes, groups }: Groups = { homes: new Map(), groups: new Map() },
): Map<string, string> {
  const offers = candidates.map((candidate) => ({ ...candidate }))
  const chosen = new Map<string, string>()
  const found = new Map(homes)
  for (const [plugin, placement] of plugins) {
    const { together } = placement
    const home = together === undefined ? [] : offers.filter(({ id }) => id === found.get(together))
    const members = together === undefined ? undefined : groups.get(together)
    const host =
      chooseHost(placement, home) ??
      (members && chooseHost(placement, fitForAll(members, offers))) ??
      chooseHost(placement, offers)
    if (together !== undefined && host !== undefined && !found.has(together)) found.set(together, host)
    const offer = offers.find(({ id }) => id === host)
    if (offer === undefined) continue
    chosen.set(plugin, offer.id)
    offer.plugins += 1
  }
  return chosen
}
