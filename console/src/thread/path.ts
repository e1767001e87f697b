/** A smooth line through points, as the path of an SVG. Pure. */
import type { Point } from "./graph-layout.js"

export function pathThrough(points: readonly Point[]): string {
  const [first, ...rest] = points
  if (!first) return ""
  const last = rest.at(-1)
  // Curves between the middles of neighbours, each drawn towards the point between them.
  const curves = rest.slice(0, -1).map((point, index) => {
    const next = rest[index + 1] ?? point
    const isLastCurve = index === rest.length - 2
    const end = isLastCurve ? next : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 }
    return `Q ${at(point)} ${at(end)}`
  })
  return [`M ${at(first)}`, ...curves, ...(curves.length === 0 && last ? [`L ${at(last)}`] : [])].join(" ")
}

const at = ({ x, y }: Point): string => `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`
