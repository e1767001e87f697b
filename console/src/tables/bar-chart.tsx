/** Counts over time as small bars; what failed is red, and at the bottom, where one sees it. */
import type { Bar } from "./bars.js"

interface Props {
  readonly bars: readonly Bar[]
  /** In pixels; without it the chart is as wide as its place. */
  readonly width?: number
  readonly height: number
  /** What the chart shows, for those who do not see it. */
  readonly label: string
  readonly caption?: string
}

const step = 4
const gap = 1

export function BarChart({ bars, width, height, label, caption }: Props) {
  const most = Math.max(1, ...bars.map(({ good, bad }) => good + bad))
  // A single failure among many must not become invisible.
  const heightOf = (value: number) => (value === 0 ? 0 : Math.max(2, (value / most) * height))
  return (
    <figure className="bar-chart">
      <svg
        width={width ?? "100%"}
        height={height}
        viewBox={`0 0 ${bars.length * step} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        {bars.map(({ good, bad }, index) => {
          const badHeight = heightOf(bad)
          const x = index * step
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place in the window
            <g key={index}>
              <rect className="bar-chart-rest" x={x} y={height - 1} width={step - gap} height={1} />
              <rect className="bar-chart-bad" x={x} y={height - badHeight} width={step - gap} height={badHeight} />
              <rect
                className="bar-chart-good"
                x={x}
                y={Math.max(0, height - badHeight - heightOf(good))}
                width={step - gap}
                height={Math.min(heightOf(good), height - badHeight)}
              />
            </g>
          )
        })}
      </svg>
      {caption !== undefined && <figcaption>{caption}</figcaption>}
    </figure>
  )
}
