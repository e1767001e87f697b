/** Puts a new item into the store. */

import { useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { DialogForm } from "../forms/dialog-form.js"
import { Field, useFields } from "../forms/field.js"
import { onlyReads } from "../frame/button.js"
import { AddDialog, useClose } from "../frame/dialog.js"
import { JsonEditor } from "../json-editor/json-editor.js"
import { objectProblem } from "./item-panel.js"
import { type ItemPlace, labelsOf, namespaceText } from "./namespaces.js"
import { useStoreActions } from "./store-data.js"

interface NewItemProps {
  /** Where it is put unless the person says otherwise. */
  readonly namespace: readonly string[]
  readonly onCreated: (item: ItemPlace) => void
}

export function NewItem(props: NewItemProps) {
  const { mayRun } = useAgent()
  return (
    <AddDialog title="New item" add="New item" look="primary" disabledBecause={mayRun ? undefined : onlyReads}>
      <NewItemForm {...props} />
    </AddDialog>
  )
}

function NewItemForm({ namespace: initial, onCreated }: NewItemProps) {
  const { put } = useStoreActions()
  const close = useClose()
  const { given, field } = useFields({ place: namespaceText(initial), key: "" })
  const [value, setValue] = useState<unknown>({})
  const place = { namespace: labelsOf(given.place), key: given.key }
  const onDone = () => {
    close()
    onCreated(place)
  }
  return (
    <DialogForm
      submit="Put"
      disabledBecause={objectProblem(value)}
      act={() => put.mutateAsync({ ...place, value, if_value: null })}
      onDone={onDone}
    >
      <Field
        label="Namespace"
        help={'Its labels, separated by slashes, such as users / u1. Labels with a slash as a list: ["files", "a/b"].'}
        {...field("place")}
      />
      <Field label="Key" {...field("key")} />
      <JsonEditor label="Value" value={{}} onChange={setValue} />
    </DialogForm>
  )
}
