/** Puts a new item into the store. */

import { useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { Button, onlyReads } from "../frame/button.js"
import { Dialog } from "../frame/dialog.js"
import { Field } from "../frame/field.js"
import { Plus } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { JsonEditor } from "../json-editor/json-editor.js"
import { objectProblem } from "./item-panel.js"
import { useStoreActions } from "./store-data.js"

interface NewItemProps {
  /** Where it is put unless the person says otherwise. */
  readonly namespace: readonly string[]
  readonly onCreated: (item: { namespace: readonly string[]; key: string }) => void
}

export function NewItem(props: NewItemProps) {
  const { mayRun } = useAgent()
  const children = (
    <>
      <Plus size={14} aria-hidden /> New item
    </>
  )
  return (
    <Dialog title="New item" button={{ look: "primary", disabledBecause: mayRun ? undefined : onlyReads, children }}>
      {(close) => <NewItemForm {...props} close={close} />}
    </Dialog>
  )
}

function NewItemForm({ namespace: initial, onCreated, close }: NewItemProps & { close: () => void }) {
  const { put } = useStoreActions()
  const [place, setPlace] = useState(initial.join(" / "))
  const [key, setKey] = useState("")
  const [value, setValue] = useState<unknown>({})
  const because = objectProblem(value)
  const send = () => {
    const namespace = place
      .split("/")
      .map((label) => label.trim())
      .filter(Boolean)
    if (because === undefined) {
      put.mutate(
        { namespace, key, value },
        {
          onSuccess: () => {
            close()
            onCreated({ namespace, key })
          },
        },
      )
    }
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <Field
        label="Namespace"
        value={place}
        onChange={setPlace}
        isRequired
        help="Its labels, separated by slashes, such as users / u1."
      />
      <Field label="Key" value={key} onChange={setKey} isRequired />
      <JsonEditor label="Value" value={{}} onChange={setValue} />
      {put.error && <Problem error={put.error} />}
      <div className="dialog-actions">
        <Button onPress={close}>Cancel</Button>
        <Button look="primary" type="submit" isPending={put.isPending} disabledBecause={because}>
          Put
        </Button>
      </div>
    </form>
  )
}
