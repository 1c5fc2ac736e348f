import { mkdirSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'

/** One line of the table: what was measured against a floor in the same run, round by round. */
export interface Figure {
  name: string
  /** Of the two values. */
  unit: string
  /** Of the ratio, or of the difference where `compared` says so. */
  wanted: string
  rounds: Round[]
  /** `ratio`, the default, is value / floor; `difference` is value - floor. */
  compared?: 'ratio' | 'difference'
}

export interface Round {
  value: number
  floor: number
}

export interface Measured extends Figure {
  median: number
  /** First and third quartile. */
  spread: [number, number]
}

const sorted = (values: readonly number[]): number[] => [...values].sort((one, other) => one - other)

/** The value below which this share of all lies. */
export function quantile(values: readonly number[], share: number): number {
  const all = sorted(values)
  const place = (all.length - 1) * share
  const low = all[Math.floor(place)] ?? Number.NaN
  const high = all[Math.ceil(place)] ?? Number.NaN
  return low + (high - low) * (place - Math.floor(place))
}

export function measured(figure: Figure): Measured {
  const compare = ({ value, floor }: Round): number =>
    figure.compared === 'difference' ? value - floor : value / floor
  const results = figure.rounds.map(compare)
  const spread: [number, number] = [quantile(results, 0.25), quantile(results, 0.75)]
  return { ...figure, median: quantile(results, 0.5), spread }
}

const shown = (value: number): string => (Math.abs(value) < 10 ? value.toFixed(2) : value.toFixed(1))

/** One line for people. */
export function line({ name, unit, wanted, rounds, compared, median, spread }: Measured): string {
  const [from, to] = spread.map(shown)
  const result = `${shown(median)}${compared === 'difference' ? ` ${unit}` : ''} (${from} … ${to})`
  const middle = (of: keyof Round): string =>
    shown(
      quantile(
        rounds.map((round) => round[of]),
        0.5,
      ),
    )
  return `| ${name} | ${result} | ${wanted} | ${middle('value')} : ${middle('floor')} ${unit} |`
}

const results = new URL('results/', import.meta.url)

/** Prints the figures, and keeps them in `bench/results/` under the name of the file that measured them. */
export function report(file: string, figures: readonly Figure[]): void {
  const all = figures.map(measured)
  const text = JSON.stringify(
    { at: new Date().toISOString(), node: process.version, figures: all },
    undefined,
    2,
  )
  mkdirSync(results, { recursive: true })
  writeFileSync(new URL(`${basename(file, '.ts')}.json`, results), `${text}\n`)
  for (const figure of all) console.log(line(figure))
}
