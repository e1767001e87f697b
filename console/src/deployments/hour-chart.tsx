/** Requests of the last hour as small bars; those that failed are red, and at the bottom, where one sees them. */
import type { MetricsPoint } from "../platform/types.js"
import { barsOf, sentenceOf } from "./last-hour.js"

const [count, width, height, gap] = [30, 120, 26, 1]

export function HourChart({ points }: { points: readonly MetricsPoint[] }) {
  const bars = barsOf(points, count, Date.now())
  const most = Math.max(1, ...bars.map(({ good, errors }) => good + errors))
  const step = width / count
  const sentence = sentenceOf(bars)
  // A single error among many requests must not become invisible.
  const heightOf = (value: number) => (value === 0 ? 0 : Math.max(2, (value / most) * height))
  return (
    <figure className="hour-chart">
      <svg width={width} height={height} role="img" aria-label={`In the last hour: ${sentence}`}>
        {bars.map(({ good, errors }, index) => {
          const bad = heightOf(errors)
          const x = index * step
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place in the hour
            <g key={index}>
              <rect className="hour-chart-rest" x={x} y={height - 1} width={step - gap} height={1} />
              <rect className="hour-chart-bad" x={x} y={height - bad} width={step - gap} height={bad} />
              <rect
                className="hour-chart-good"
                x={x}
                y={Math.max(0, height - bad - heightOf(good))}
                width={step - gap}
                height={Math.min(heightOf(good), height - bad)}
              />
            </g>
          )
        })}
      </svg>
      <figcaption>{sentence}</figcaption>
    </figure>
  )
}
