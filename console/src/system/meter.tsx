/** How much of something is used: the numbers, and a bar. */
import { Label } from "react-aria-components/Label"
import { Meter as AriaMeter } from "react-aria-components/Meter"
import { toneOf } from "./fullness.js"

export interface MeterProps {
  readonly label: string
  readonly used: number
  readonly most: number
  readonly text?: (value: number) => string
}

export function Meter({ label, used, most, text = (value) => value.toLocaleString("en") }: MeterProps) {
  return (
    <AriaMeter
      value={used}
      maxValue={Math.max(1, most)}
      className="meter card"
      valueLabel={`${text(used)} of ${text(most)}`}
    >
      {({ percentage, valueText }) => (
        <>
          <Label>{label}</Label>
          <span className="number meter-value">{valueText}</span>
          <span className="meter-track" aria-hidden>
            <span className={`meter-fill meter-${toneOf(used, most)}`} style={{ width: `${percentage}%` }} />
          </span>
        </>
      )}
    </AriaMeter>
  )
}
