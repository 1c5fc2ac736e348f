import { graphlib, layout } from '@dagrejs/dagre'
import { type Arrow, anyState, type ChartParts } from './arrows.ts'

/** Where everything of a statechart's picture is, in pixels at its natural size. */

export interface PlacedState {
  name: string
  x: number
  y: number
  width: number
  height: number
}

export interface PlacedArrow extends Arrow {
  /** For SVG. */
  path: string
  label: { x: number; y: number }
}

interface PlacedChart {
  width: number
  height: number
  states: PlacedState[]
  arrows: PlacedArrow[]
}

export const lineHeight = 16
/** Width of a letter of the labels, a little generous: fonts differ. */
const letterWidth = 6.3
const margin = 12

interface Point {
  x: number
  y: number
}

export function layoutChart({ states, arrows }: ChartParts): PlacedChart {
  const graph = new graphlib.Graph()
  // Close together: at 1280 pixels the picture fits into its panel with letters that can still be read.
  graph.setGraph({ rankdir: 'TB', nodesep: 12, ranksep: 26, edgesep: 7, marginx: margin, marginy: margin })
  for (const name of states) {
    const height = name === anyState ? 30 : 46
    graph.setNode(name, { width: Math.max(90, name.length * 8.4 + 20), height })
  }
  for (const { from, to, events } of arrows) {
    const longest = Math.max(...events.map((event) => shortName(event).length))
    graph.setEdge(from, to, {
      width: longest * letterWidth + 8,
      height: events.length * lineHeight + 4,
      labelpos: 'c',
    })
  }
  layout(graph)
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number }
  return {
    width,
    height,
    states: states.map((name) => ({ name, ...(graph.node(name) as Omit<PlacedState, 'name'>) })),
    arrows: arrows.map((arrow) => {
      const { points, x, y } = graph.edge(arrow.from, arrow.to) as { points: Point[]; x: number; y: number }
      return { ...arrow, path: smooth(points), label: { x, y } }
    }),
  }
}

/** A curve near the points, straight at both ends. */
function smooth(points: readonly Point[]): string {
  const [first, ...rest] = points
  const last = rest.at(-1)
  if (first === undefined || last === undefined) return ''
  const parts = [`M${at(first)}`]
  rest.slice(0, -1).forEach((point, index) => {
    const next = rest[index + 1] ?? last
    const end = next === last ? last : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 }
    parts.push(`Q${at(point)} ${at(end)}`)
  })
  if (rest.length === 1) parts.push(`L${at(last)}`)
  return parts.join(' ')
}

function at({ x, y }: Point): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`
}

/** `PluginLoaded` is `Loaded` in a picture in which all are of a plugin. */
export function shortName(event: string): string {
  return event.replace(/^(Plugin|Host)(?=[A-Z])/, '')
}
