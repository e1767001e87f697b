/** One item: its value to read, or to edit. */

import { useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { Form } from "../forms/form.js"
import { Button, onlyReads } from "../frame/button.js"
import { Removal } from "../frame/dialog.js"
import { Loading } from "../frame/empty.js"
import { Pencil } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { Ago } from "../frame/time.js"
import { JsonEditor } from "../json-editor/json-editor.js"
import { JsonView } from "../json-editor/json-view.js"
import { ChangeList } from "../time-travel/change-list.js"
import { changesOf } from "../time-travel/state-diff.js"
import type { ItemPlace, StoreItem } from "./namespaces.js"
import { useItem, useStoreActions } from "./store-data.js"

interface ItemPanelProps {
  readonly place: ItemPlace
  /** The item as a list has it. */
  readonly listed: StoreItem | undefined
  /** From then on the panel must show this item, whatever becomes of the list. */
  readonly onEdit: () => void
  readonly onDeleted: () => void
}

export function ItemPanel({ place, listed, onEdit, onDeleted }: ItemPanelProps) {
  const { mayRun } = useAgent()
  const { remove } = useStoreActions()
  const { data: item, error } = useItem(place, listed)
  // The item with whose value the editor starts.
  const [edited, setEdited] = useState<StoreItem>()
  const { namespace, key } = place
  const blocked = mayRun ? undefined : onlyReads
  const edit = (start: StoreItem) => {
    setEdited(start)
    onEdit()
  }
  return (
    <section className="store-panel" aria-label={`Item ${key}`}>
      <header className="panel-head">
        <div>
          <h2>{key}</h2>
          <p className="soft">
            {namespace.join(" / ")}
            {item && (
              <>
                {" "}
                · changed <Ago at={item.updated_at} /> · created <Ago at={item.created_at} />
              </>
            )}
          </p>
        </div>
        {item && (
          <div className="store-panel-actions">
            <Button disabledBecause={blocked} onPress={() => edit(item)}>
              <Pencil size={14} aria-hidden /> Edit
            </Button>
            <Removal
              title={`Delete ${key}?`}
              label={`Delete ${key}`}
              disabledBecause={blocked}
              act={() => remove(place, onDeleted)}
            >
              The agent forgets it. This cannot be undone.
            </Removal>
          </div>
        )}
      </header>
      {item === undefined && (error ? <Problem error={error} /> : <Loading what="Loading the item" />)}
      {edited && item !== undefined && (
        <ItemEditor
          key={edited.updated_at}
          start={edited}
          now={item}
          onRestart={setEdited}
          onClose={() => setEdited(undefined)}
        />
      )}
      {!edited && item && <JsonView value={item.value} label="Value" />}
      {!edited && item === null && <p className="soft">This item does not exist: it was deleted, or it has expired.</p>}
    </section>
  )
}

interface ItemEditorProps {
  readonly start: StoreItem
  /** As it is stored now; null: it does not exist any more. */
  readonly now: StoreItem | null
  readonly onRestart: (start: StoreItem) => void
  readonly onClose: () => void
}

function ItemEditor({ start, now, onRestart, onClose }: ItemEditorProps) {
  const { put } = useStoreActions()
  const [value, setValue] = useState<unknown>(start.value)
  // What the person knows to be replaced.
  const [known, setKnown] = useState<StoreItem | null>(start)
  const changes = now?.updated_at === known?.updated_at ? [] : changesOf(known?.value, now?.value)
  const isOther = changes.length > 0
  const because = objectProblem(value) ?? (isOther ? "Say first what becomes of the other change." : undefined)
  const save = () =>
    put.mutate(
      { namespace: start.namespace, key: start.key, value, if_value: known?.value ?? null },
      { onSuccess: onClose },
    )
  const keep = () => {
    put.reset()
    setKnown(now)
  }
  return (
    <Form className="form" onSend={() => because === undefined && save()}>
      <JsonEditor label="Value" value={start.value} onChange={setValue} />
      {isOther && (
        <div className="store-changed">
          <p role="status">{now ? "The item was changed while you edit." : "The item was deleted while you edit."}</p>
          {now && <ChangeList changes={changes} none="" />}
          <div className="store-panel-actions">
            {now && <Button onPress={() => onRestart(now)}>Start from the new value</Button>}
            <Button onPress={keep}>Keep my text</Button>
          </div>
        </div>
      )}
      {put.error && !isOther && <Problem error={put.error} />}
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
