/** A form in a dialog: its fields, then what failed, Cancel, and the button that sends it. */
import { useMutation } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { Button, type ButtonProps } from "../frame/button.js"
import { DialogEnd, useClose, useHold } from "../frame/dialog.js"
import { Form } from "./form.js"

interface DialogFormProps<Reply> extends Pick<ButtonProps, "look" | "disabledBecause"> {
  /** The fields. */
  readonly children: ReactNode
  /** The word on the button that sends it. */
  readonly submit: string
  readonly act: () => Promise<Reply>
  /** What follows while the dialog is open; by default it closes. */
  readonly onDone?: (reply: Reply) => unknown
}

export function DialogForm<Reply>({ children, submit, act, onDone, ...button }: DialogFormProps<Reply>) {
  const close = useClose()
  // A reply may be a secret, which nothing keeps when the dialog is closed.
  const { mutate, isPending, error } = useMutation({ gcTime: 0, mutationFn: act })
  const [isChanged, setChanged] = useState(false)
  useHold(isPending ? "both" : isChanged ? "press" : undefined)
  // Given with the call: whoever has left the dialog meanwhile is led nowhere by its reply.
  const send = () => mutate(undefined, { onSuccess: onDone ?? close })
  return (
    <Form onInput={() => setChanged(true)} onSend={() => button.disabledBecause === undefined && !isPending && send()}>
      {children}
      <DialogEnd error={error}>
        <Button type="submit" look="primary" isPending={isPending} {...button}>
          {submit}
        </Button>
      </DialogEnd>
    </Form>
  )
}
