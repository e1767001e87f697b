/** A dialog, and the question before something that cannot be taken back. */
import { useMutation } from "@tanstack/react-query"
import { createContext, type ReactNode, useContext, useLayoutEffect, useState } from "react"
import { Dialog as AriaDialog, DialogTrigger } from "react-aria-components/Dialog"
import { Heading } from "react-aria-components/Heading"
import { Modal, ModalOverlay, type ModalOverlayProps } from "react-aria-components/Modal"
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
      <Frame title={title} onClose={() => setOpen(false)}>
        {children}
      </Frame>
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
  <Frame {...props} isOpen onOpenChange={(isOpen) => !isOpen && props.onClose()} />
)

/** What does not close a dialog: a press beside it, or that and Escape, so that only its buttons close it. */
type Hold = "press" | "both" | undefined

interface AroundContent {
  readonly close: () => void
  readonly setHold: (hold: Hold) => void
}

const DialogContext = createContext<AroundContent>({ close: () => undefined, setHold: () => undefined })

/** @returns  what closes the dialog around the component */
export const useClose = (): (() => void) => useContext(DialogContext).close

/** Keeps the dialog around the component open while it has what would be lost with it. */
export function useHold(hold: Hold): void {
  const { setHold } = useContext(DialogContext)
  useLayoutEffect(() => {
    setHold(hold)
    return () => setHold(undefined)
  }, [hold, setHold])
}

function Frame({ title, onClose, children, ...overlay }: OpenDialogProps & ModalOverlayProps) {
  const [hold, setHold] = useState<Hold>()
  return (
    <ModalOverlay
      {...overlay}
      className="dialog-overlay"
      isDismissable={hold === undefined}
      isKeyboardDismissDisabled={hold === "both"}
    >
      <Modal className="dialog">
        <AriaDialog>
          <Heading slot="title">{title}</Heading>
          <DialogContext value={{ close: onClose, setHold }}>{children}</DialogContext>
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  )
}

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
  useHold(isPending ? "both" : undefined)
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
