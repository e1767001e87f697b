/** Edits the state of a checkpoint as JSON, and goes on from the edited one. */

import { useMemo, useState } from "react"
import { Button } from "../frame/button.js"
import { Play } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { JsonEditor } from "../json-editor/json-editor.js"
import { ChangeList } from "./change-list.js"
import { changesOf } from "./state-diff.js"
import { removedKeys, type State } from "./state-update.js"

interface Props {
  readonly state: State
  /** Nodes in whose name the state can be changed. */
  readonly nodes: readonly string[]
  readonly isPending: boolean
  readonly error: unknown
  readonly onGoOn: (state: State, asNode: string | undefined) => void
  readonly onCancel: () => void
}

export function StateEditor({ state, nodes, isPending, error, onGoOn, onCancel }: Props) {
  const [{ edited, problem }, setEdited] = useState<Edited>({ edited: state, problem: undefined })
  const [asNode, setAsNode] = useState("")
  const changes = useMemo(() => (edited ? changesOf(state, edited) : []), [state, edited])
  const blocked = problem ?? reasonAgainst(state, edited, changes.length)
  return (
    <section className="state-editor" aria-label="Edit the state">
      <JsonEditor
        label="State"
        value={state}
        onChange={(value, problem) => setEdited({ edited: isState(value) ? value : undefined, problem })}
      />
      <div className="state-editor-foot">
        {error !== null && error !== undefined && <Problem error={error} />}
        <Button
          look="primary"
          onPress={() => edited && onGoOn(edited, asNode === "" ? undefined : asNode)}
          isPending={isPending}
          disabledBecause={blocked}
        >
          <Play size={14} aria-hidden /> Go on with this state
        </Button>
        <Button look="quiet" onPress={onCancel}>
          Cancel
        </Button>
        <label className="state-editor-node">
          written by
          <select value={asNode} onChange={(event) => setAsNode(event.target.value)}>
            <option value="">the node before</option>
            {nodes.map((node) => (
              <option key={node} value={node}>
                {node}
              </option>
            ))}
          </select>
        </label>
      </div>
      <h3>Your changes</h3>
      <ChangeList changes={changes} none="Nothing is changed yet." />
    </section>
  )
}

interface Edited {
  /** undefined while the text is no state. */
  readonly edited: State | undefined
  readonly problem: string | undefined
}

const isState = (value: unknown): value is State => typeof value === "object" && value !== null && !Array.isArray(value)

function reasonAgainst(state: State, edited: State | undefined, changes: number): string | undefined {
  if (!edited) return "A state is a JSON object."
  const removed = removedKeys(state, edited)
  if (removed.length > 0)
    return `An update cannot remove a field of the state: set ${removed.join(", ")} to null instead.`
  if (changes === 0)
    return "Nothing is changed yet. To go on from the state as it is, cancel and press “Go on from here”."
  return undefined
}
