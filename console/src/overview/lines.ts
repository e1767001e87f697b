/** Values over time as the points of SVG lines. Pure. */

export interface Timed {
  readonly at: string
  /** Null where it was not measured. */
  readonly value: number | null
}

interface Place {
  readonly windowMs: number
  /** The end of the window, in milliseconds since 1970. */
  readonly now: number
  readonly width: number
  readonly height: number
  /** The value at the top. */
  readonly most: number
}

/** One text for each line: a value that was not measured interrupts it. A value between two such ones is a short line, so that it is seen. */
export function linesOf(points: readonly Timed[], { windowMs, now, width, height, most }: Place): string[] {
  const lines: string[][] = []
  let line: string[] | undefined
  for (const { at, value } of points) {
    if (value === null) {
      line = undefined
      continue
    }
    const x = Math.min(width, Math.max(0, ((Date.parse(at) - now + windowMs) / windowMs) * width))
    const y = height - (value / most) * height + 1
    const point = `${x.toFixed(1)},${y.toFixed(1)}`
    if (line) line.push(point)
    else {
      line = [point]
      lines.push(line)
    }
  }
  return lines.map((each) => (each.length === 1 ? [...each, shifted(each[0] ?? "")] : each).join(" "))
}

function shifted(point: string): string {
  const [x = "0", y = "0"] = point.split(",")
  return `${(Number(x) + 1).toFixed(1)},${y}`
}
