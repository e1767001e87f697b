/** Changes of a state, one place after the other. */
import { JsonText } from "../messages/json-text.js"
import { textOf } from "../messages/messages.js"
import type { Change } from "./state-diff.js"

const words = { added: "added", removed: "removed", changed: "changed", moved: "moved" }
const signs = { added: "+", removed: "−", changed: "±", moved: "↕" }

export function ChangeList({ changes, none }: { changes: readonly Change[]; none: string }) {
  if (changes.length === 0) return <p className="state-changes-none soft">{none}</p>
  return (
    <ul className="state-changes">
      {changes.map((change) => (
        <li key={`${change.kind} ${change.path}`} className={`state-change state-change-${change.kind}`}>
          <p className="state-change-head">
            <span className="state-change-sign" aria-hidden>
              {signs[change.kind]}
            </span>
            <code>{change.path}</code> <span className="state-change-kind">{words[change.kind]}</span>
          </p>
          {"before" in change && change.kind !== "moved" && <Side kind="before" value={change.before} />}
          {"after" in change && change.kind !== "moved" && <Side kind="after" value={change.after} />}
        </li>
      ))}
    </ul>
  )
}

/** A message is shown by what it says. */
function Side({ kind, value }: { kind: "before" | "after"; value: unknown }) {
  const said = spokenBy(value)
  return (
    <div className={`state-change-side state-change-${kind}`}>
      {said ? (
        <>
          <p className="state-change-said">
            <b>{said.who}</b> {said.text}
          </p>
          <JsonText value={value} label="message" />
        </>
      ) : (
        <JsonText value={value} label={kind} />
      )}
    </div>
  )
}

function spokenBy(value: unknown): { who: string; text: string } | undefined {
  if (typeof value !== "object" || value === null || !("content" in value) || !("type" in value)) return undefined
  const text = textOf(value.content)
  return text === "" ? undefined : { who: String(value.type), text }
}
