/** The text of a line: its fields are faint, further lines are folded, and what was searched is marked in all of them. */
import { highlighted, shownLine } from "./find.js"

export function LogMessage({ text, search }: { text: string; search: string }) {
  const { words, fields, folded } = shownLine(text)
  const rest = folded.join("\n")
  const isFound = highlighted(rest, search).length > 1
  return (
    <span className="log-message">
      <Marked text={words} search={search} />
      {fields && (
        <span className="log-fields">
          <Marked text={fields} search={search} />
        </span>
      )}
      {folded.length > 0 && (
        // The browser keeps what a reader opened; a search that finds something inside opens it.
        <details className="log-trace" key={String(isFound)} open={isFound}>
          <summary>
            {folded.length} more {folded.length === 1 ? "line" : "lines"}
          </summary>
          <Marked text={rest} search={search} />
        </details>
      )}
    </span>
  )
}

function Marked({ text, search }: { text: string; search: string }) {
  return highlighted(text, search).map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one line never move
    index % 2 === 1 ? <mark key={index}>{part}</mark> : <span key={index}>{part}</span>,
  )
}
