/** One item: its value to read, or to edit. */

import { useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { Form } from "../forms/form.js"
import { Button, onlyReads } from "../frame/button.js"
import { Removal } from "../frame/dialog.js"
import { Pencil } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { Ago } from "../frame/time.js"
import { JsonEditor } from "../json-editor/json-editor.js"
import { JsonView } from "../json-editor/json-view.js"
import type { StoreItem } from "./namespaces.js"
import { useStoreActions } from "./store-data.js"

export function ItemPanel({ item, onDeleted }: { item: StoreItem; onDeleted: () => void }) {
  const { mayRun } = useAgent()
  const { remove } = useStoreActions()
  const [isEditing, setEditing] = useState(false)
  const { namespace, key, value, created_at, updated_at } = item
  const blocked = mayRun ? undefined : onlyReads
  return (
    <section className="store-panel" aria-label={`Item ${key}`}>
      <header className="panel-head">
        <div>
          <h2>{key}</h2>
          <p className="soft">
            {namespace.join(" / ")} · changed <Ago at={updated_at} /> · created <Ago at={created_at} />
          </p>
        </div>
        <div className="store-panel-actions">
          <Button disabledBecause={blocked} onPress={() => setEditing(true)}>
            <Pencil size={14} aria-hidden /> Edit
          </Button>
          <Removal
            title={`Delete ${key}?`}
            label={`Delete ${key}`}
            disabledBecause={blocked}
            act={async () => {
              await remove({ namespace, key })
              onDeleted()
            }}
          >
            The agent forgets it. This cannot be undone.
          </Removal>
        </div>
      </header>
      {isEditing ? (
        <ItemEditor item={item} onClose={() => setEditing(false)} />
      ) : (
        <JsonView value={value} label="Value" />
      )}
    </section>
  )
}

function ItemEditor({ item, onClose }: { item: StoreItem; onClose: () => void }) {
  const { namespace, key } = item
  const { put } = useStoreActions()
  const [value, setValue] = useState<unknown>(item.value)
  const because = objectProblem(value)
  return (
    <Form
      className="form"
      onSend={() => because === undefined && put.mutate({ namespace, key, value }, { onSuccess: onClose })}
    >
      <JsonEditor label="Value" value={item.value} onChange={setValue} />
      {put.error && <Problem error={put.error} />}
      <div className="store-panel-actions">
        <Button look="primary" type="submit" isPending={put.isPending} disabledBecause={because}>
          Save
        </Button>
        <Button onPress={onClose}>Cancel</Button>
      </div>
    </Form>
  )
}

/** The value of an item is an object. */
export const objectProblem = (value: unknown): string | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? undefined : "A value must be a JSON object."
