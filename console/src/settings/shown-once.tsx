/** A form in a dialog that makes a secret, such as a key or the link of an invitation, and then shows it once. */
import { type ReactNode, useState } from "react"
import { DialogForm } from "../forms/dialog-form.js"
import { Button } from "../frame/button.js"
import { CopyText } from "../frame/copy-text.js"
import { useClose, useHold } from "../frame/dialog.js"

interface Props {
  /** The fields. */
  readonly children: ReactNode
  /** The word on the button that makes it. */
  readonly submit: string
  /** Why it cannot be made now. */
  readonly disabledBecause?: string | undefined
  /** @returns the secret */
  readonly make: () => Promise<string>
  readonly onMade: () => Promise<unknown>
  /** What the secret is, such as `the key`, and what to do with it. */
  readonly label: string
  readonly advice: string
}

export function ShownOnce({ children, submit, disabledBecause, make, onMade, label, advice }: Props) {
  const close = useClose()
  // Nothing keeps it when the dialog is closed.
  const [secret, setSecret] = useState<string>()
  useHold(secret === undefined ? undefined : "both")
  if (secret !== undefined)
    return (
      <>
        <p className="dialog-text">{advice}</p>
        <div className="settings-key">
          <CopyText text={secret} label={label} />
        </div>
        <div className="dialog-actions">
          <Button look="primary" onPress={close}>
            Done
          </Button>
        </div>
      </>
    )
  return (
    <DialogForm
      submit={submit}
      disabledBecause={disabledBecause}
      act={make}
      onDone={(made) => {
        setSecret(made)
        return onMade()
      }}
    >
      {children}
    </DialogForm>
  )
}
