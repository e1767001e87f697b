/** A form in a dialog that makes a secret, such as a key or the link of an invitation, and then shows it once. */
import { useMutation } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Form } from "react-aria-components/Form"
import { Button } from "../frame/button.js"
import { CopyText } from "../frame/copy-text.js"
import { Problem } from "../frame/problem.js"

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
  readonly close: () => void
}

export function ShownOnce({ children, submit, disabledBecause, make, onMade, label, advice, close }: Props) {
  // Nothing keeps the secret when the dialog is closed.
  const { mutate, data, isPending, error } = useMutation({ gcTime: 0, mutationFn: make, onSuccess: onMade })
  if (data !== undefined)
    return (
      <>
        <p className="dialog-text">{advice}</p>
        <div className="settings-key">
          <CopyText text={data} label={label} />
        </div>
        <div className="dialog-actions">
          <Button look="primary" onPress={close}>
            Done
          </Button>
        </div>
      </>
    )
  return (
    <Form
      onSubmit={(event) => {
        event.preventDefault()
        mutate()
      }}
    >
      {children}
      {error && <Problem error={error} />}
      <div className="dialog-actions">
        <Button onPress={close}>Cancel</Button>
        <Button type="submit" look="primary" isPending={isPending} disabledBecause={disabledBecause}>
          {submit}
        </Button>
      </div>
    </Form>
  )
}
