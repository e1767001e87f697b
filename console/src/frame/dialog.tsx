/** A dialog, and the question before something that cannot be taken back. */
import { useMutation } from "@tanstack/react-query"
import { createContext, type ReactNode, useContext, useState } from "react"
import { Dialog as AriaDialog, DialogTrigger } from "react-aria-components/Dialog"
import { Heading } from "react-aria-components/Heading"
import { Modal, ModalOverlay } from "react-aria-components/Modal"
import { Button, type ButtonProps } from "./button.js"
import { Plus, Trash2 } from "./icons.js"
import { Problem } from "./problem.js"

export interface DialogProps {
  readonly title: string
  readonly button: Omit<ButtonProps, "onPress">
  /** Drawn anew each time the dialog opens. */
  readonly children: ReactNode
}

/** A button that opens a dialog. */
export function Dialog({ title, button, children }: DialogProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <DialogTrigger isOpen={isOpen} onOpenChange={(open) => setOpen(open && button.disabledBecause === undefined)}>
      <Button {...button} onPress={() => setOpen(true)} />
      <ModalOverlay className="dialog-overlay" isDismissable>
        <Frame title={title} onClose={() => setOpen(false)}>
          {children}
        </Frame>
      </ModalOverlay>
    </DialogTrigger>
  )
}

interface AddDialogProps
  extends Pick<DialogProps, "title" | "children">,
    Pick<ButtonProps, "look" | "disabledBecause"> {
  /** What the button says, beside its plus. */
  readonly add: string
}

/** A button that opens a dialog for something new. */
export function AddDialog({ title, add, children, ...button }: AddDialogProps) {
  const words = (
    <>
      <Plus size={14} aria-hidden /> {add}
    </>
  )
  return (
    <Dialog title={title} button={{ ...button, children: words }}>
      {children}
    </Dialog>
  )
}

interface OpenDialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
}

/** A dialog that is open as long as it is drawn, for what opens it may go: a row of a list moves out of view. */
export const OpenDialog = (props: OpenDialogProps) => (
  <ModalOverlay className="dialog-overlay" isDismissable isOpen onOpenChange={(isOpen) => !isOpen && props.onClose()}>
    <Frame {...props} />
  </ModalOverlay>
)

const CloseContext = createContext<() => void>(() => undefined)

/** @returns  what closes the dialog around the component */
export const useClose = (): (() => void) => useContext(CloseContext)

const Frame = ({ title, onClose, children }: OpenDialogProps) => (
  <Modal className="dialog">
    <AriaDialog>
      <Heading slot="title">{title}</Heading>
      <CloseContext value={onClose}>{children}</CloseContext>
    </AriaDialog>
  </Modal>
)

/** The last part of a dialog: what failed, and Cancel beside the button that goes on. */
export function DialogEnd({ error, children }: { error: Error | null; children: ReactNode }) {
  const close = useClose()
  return (
    <>
      {error && <Problem error={error} />}
      <div className="dialog-actions">
        <Button onPress={close}>Cancel</Button>
        {children}
      </div>
    </>
  )
}

export interface ConfirmProps {
  readonly title: string
  readonly button: Omit<ButtonProps, "onPress">
  /** What will happen. */
  readonly children: ReactNode
  readonly confirm: string
  readonly isDangerous?: boolean
  readonly act: () => Promise<unknown>
}

/** Asks, does it, and stays open with the reason when that fails. */
export const Confirm = ({ title, button, ...question }: ConfirmProps) => (
  <Dialog title={title} button={button}>
    <Question {...question} />
  </Dialog>
)

function Question({ children, confirm, isDangerous = false, act }: Omit<ConfirmProps, "title" | "button">) {
  const close = useClose()
  const { mutate, isPending, error } = useMutation({ mutationFn: act })
  // Given with the call: the reply to a question that was left does not close the next one.
  const answer = () => mutate(undefined, { onSuccess: close })
  return (
    <>
      <div className="dialog-text">{children}</div>
      <DialogEnd error={error}>
        <Button look={isDangerous ? "danger-fill" : "primary"} isPending={isPending} onPress={answer}>
          {confirm}
        </Button>
      </DialogEnd>
    </>
  )
}

interface RemovalProps extends Pick<ConfirmProps, "title" | "children" | "act">, Pick<ButtonProps, "disabledBecause"> {
  /** What both buttons say. */
  readonly word?: string
  /** Names the first button where it is only an icon. */
  readonly label?: string
}

/** Asks before one thing of several goes. */
export const Removal = ({ word = "Delete", label, disabledBecause, ...question }: RemovalProps) => (
  <Confirm
    {...question}
    button={{
      look: "quiet",
      disabledBecause,
      ...(label === undefined ? { children: word } : { label, children: <Trash2 size={14} aria-hidden /> }),
    }}
    confirm={word}
    isDangerous
  />
)
