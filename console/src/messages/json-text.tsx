/** A value as JSON that can be read; a long one starts folded. */
import { memo, useMemo } from "react"
import { JsonView } from "../json-editor/json-view.js"
import { parsedJson } from "./messages.js"

// About what a reader takes in at a glance.
const shortLength = 600

interface Props {
  /** A text that is JSON is shown as what it says; every other text as it is. */
  readonly value: unknown
  readonly label?: string
}

export const JsonText = memo(({ value, label = "value" }: Props) => {
  const shown = useMemo(() => (typeof value === "string" ? parsedJson(value) : value), [value])
  const length = useMemo(
    () => (typeof shown === "string" ? shown : (JSON.stringify(shown, null, 2) ?? "")).length,
    [shown],
  )
  const view =
    typeof shown === "string" ? <pre className="plain-text">{shown}</pre> : <JsonView value={shown} label={label} />
  if (length <= shortLength) return view
  return (
    <details className="json-fold">
      <summary>
        {label}, {length.toLocaleString("en")} characters
      </summary>
      {view}
    </details>
  )
})
