import { pickFrom } from '../../helpers/random.ts'

/** How a round begins and ends. */
export interface Plan {
  /** Starts that are killed before the one that is to be used. */
  killedStarts: number
  /** Started with `--safe`, and left on the way. */
  safe: boolean
  /** `kill`: -9. `stop and kill`: SIGTERM, and -9 a moment later. `stop twice`: two SIGTERM. `stop`: one. */
  ending: 'kill' | 'stop and kill' | 'stop twice' | 'stop'
  /** From the first command to the (first) signal, in ms. */
  duration: number
  /** From the first signal to the second, in ms. */
  pause: number
}

/** A round has some ten commands in it, five of them at a time. */
const longestRound = 400
/** An unhurried shutdown takes about as long. */
const longestPause = 200

/** So that a short run has one of each. */
const firstRounds: Partial<Plan>[] = [
  { killedStarts: 0, safe: false, ending: 'kill' },
  { killedStarts: 1, safe: false, ending: 'stop and kill' },
  { killedStarts: 3, safe: false, ending: 'kill' },
  { killedStarts: 0, safe: true, ending: 'kill' },
  { killedStarts: 0, safe: false, ending: 'stop twice' },
  { killedStarts: 2, safe: false, ending: 'stop' },
]

export function planRound(round: number, random: () => number): Plan {
  const chance = random()
  return {
    killedStarts: chance < 0.5 ? 0 : chance < 0.75 ? 1 : chance < 0.9 ? 2 : 3,
    safe: random() < 0.08,
    ending: pickFrom(random, [
      'kill',
      'kill',
      'kill',
      'kill',
      'stop and kill',
      'stop and kill',
      'stop twice',
      'stop',
    ]),
    duration: random() * longestRound,
    pause: random() * longestPause,
    ...firstRounds[round],
  }
}
