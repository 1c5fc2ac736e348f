import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
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
  /** Why there are no rounds: what it is compared with is not installed, for instance. */
  leftOut?: string
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

const shown = (value: number): string => {
  const size = Math.abs(value)
  return value.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0)
}

/** One line for people. */
export function line({ name, unit, wanted, rounds, compared, leftOut, median, spread }: Measured): string {
  if (leftOut !== undefined) return `| ${name} | ${leftOut} | ${wanted} | |`
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

export const tableHead = '| figure | measured | wanted | value : floor |\n|---|---|---|---|'

const results = new URL('results/', import.meta.url)

/** What kind of machine it is; nothing by which one could know which. */
function machine(): object {
  const [processor] = cpus()
  return {
    platform: `${process.platform} ${process.arch}`,
    processors: cpus().length,
    model: processor?.model ?? 'unknown',
    gigabytes: Math.round(totalmem() / 1024 ** 3),
  }
}

const digits = 4
const short = (_key: string, value: unknown): unknown =>
  typeof value === 'number' && Number.isFinite(value) ? Number(value.toPrecision(digits)) : value

interface Kept {
  on: { at: string; node: string; machine: { processors: number; model: string; gigabytes: number } }
  figures: Measured[]
}

/** Writes what is kept of all files as one table for people. */
export function writeTable(): void {
  const files = readdirSync(results).filter((file) => file.endsWith('.json'))
  const kept = files.sort().map((file) => JSON.parse(readFileSync(new URL(file, results), 'utf8')) as Kept)
  const places = kept.map(({ on: { at, node, machine } }) => {
    const { processors, model, gigabytes } = machine
    return `${at}, Node ${node}, ${processors} processors (${model}), ${gigabytes} GB`
  })
  const text = `# Figures

Written by \`npm run bench\`, of what it keeps here: the median of the rounds, and their middle half. A figure without a unit is a
ratio to a floor, or to a rival, in the same run; one with a unit is the difference from it.
[docs/performance.md](../../docs/performance.md) says what stands behind them.

Measured on ${[...new Set(places)].join('; and on ')}.

${tableHead}
${kept.flatMap(({ figures }) => figures.map(line)).join('\n')}
`
  writeFileSync(new URL('README.md', results), text)
}

/** Prints the figures, and keeps them in `bench/results/` under the name of the file that measured them. */
export function report(file: string, figures: readonly Figure[]): void {
  const all = figures.map(measured)
  const on = {
    at: new Date().toISOString().slice(0, 'yyyy-mm-dd'.length),
    node: process.version,
    machine: machine(),
  }
  const lines = all.map((figure) => `    ${JSON.stringify(figure, short)}`).join(',\n')
  mkdirSync(results, { recursive: true })
  // A line for each figure: what has changed since the last time is seen at a glance.
  const text = `{\n  "on": ${JSON.stringify(on)},\n  "figures": [\n${lines}\n  ]\n}\n`
  writeFileSync(new URL(`${basename(file, '.bench.ts')}.json`, results), text)
  for (const figure of all) console.log(line(figure))
}
