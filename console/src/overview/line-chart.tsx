/** One or two values over time as lines, on one scale from zero. */
import { Fragment } from "react"
import { linesOf, type Timed } from "./lines.js"

interface Props {
  readonly series: readonly { readonly name: string; readonly points: readonly Timed[] }[]
  readonly windowMs: number
  readonly height: number
  /** What the chart shows, for those who do not see it. */
  readonly label: string
}

const width = 360

export function LineChart({ series, windowMs, height, label }: Props) {
  const now = Date.now()
  const most = Math.max(1, ...series.flatMap(({ points }) => points.map(({ value }) => value ?? 0)))
  return (
    <figure className="line-chart">
      <svg
        width="100%"
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        <line className="line-chart-rest" x1={0} x2={width} y1={height - 0.5} y2={height - 0.5} />
        {series.map(({ name, points }, index) => (
          <Fragment key={name}>
            {linesOf(points, { windowMs, now, width, height: height - 2, most }).map((line) => (
              <polyline key={line} className={`line-chart-${index}`} points={line} vectorEffect="non-scaling-stroke" />
            ))}
          </Fragment>
        ))}
      </svg>
    </figure>
  )
}
