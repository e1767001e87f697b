/** A dialog, and the question before something that cannot be taken back. */
import { useMutation } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { Dialog as AriaDialog, DialogTrigger } from "react-aria-components/Dialog"
import { Heading } from "react-aria-components/Heading"
import { Modal, ModalOverlay } from "react-aria-components/Modal"
import { Button, type ButtonProps } from "./button.js"
import { Problem } from "./problem.js"

export interface DialogProps {
  readonly title: string
  readonly button: Omit<ButtonProps, "onPress">
  readonly children: (close: () => void) => ReactNode
}

/** A button that opens a dialog. */
export function Dialog({ title, button, children }: DialogProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <DialogTrigger isOpen={isOpen} onOpenChange={(open) => setOpen(open && button.disabledBecause === undefined)}>
      <Button {...button} onPress={() => setOpen(true)} />
      <ModalOverlay className="dialog-overlay" isDismissable>
        <Frame title={title}>{children(() => setOpen(false))}</Frame>
      </ModalOverlay>
    </DialogTrigger>
  )
}

/** A dialog that is open as long as it is drawn, for what opens it may go: a row of a list moves out of view. */
export const OpenDialog = ({ title, onClose, children }: OpenDialogProps) => (
  <ModalOverlay className="dialog-overlay" isDismissable isOpen onOpenChange={(isOpen) => !isOpen && onClose()}>
    <Frame title={title}>{children}</Frame>
  </ModalOverlay>
)

interface OpenDialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
}

const Frame = ({ title, children }: Omit<OpenDialogProps, "onClose">) => (
  <Modal className="dialog">
    <AriaDialog>
      <Heading slot="title">{title}</Heading>
      {children}
    </AriaDialog>
  </Modal>
)

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
export function Confirm({ title, button, children, confirm, isDangerous = false, act }: ConfirmProps) {
  return (
    <Dialog title={title} button={button}>
      {(close) => (
        <ConfirmBody close={close} act={act} confirm={confirm} isDangerous={isDangerous}>
          {children}
        </ConfirmBody>
      )}
    </Dialog>
  )
}

function ConfirmBody({
  close,
  act,
  confirm,
  isDangerous,
  children,
}: Pick<ConfirmProps, "act" | "confirm" | "isDangerous" | "children"> & { close: () => void }) {
  const { mutate, isPending, error } = useMutation({ mutationFn: act, onSuccess: close })
  return (
    <>
      <div className="dialog-text">{children}</div>
      {error && <Problem error={error} />}
      <div className="dialog-actions">
        <Button onPress={close}>Cancel</Button>
        <Button look={isDangerous ? "danger-fill" : "primary"} isPending={isPending} onPress={() => mutate()}>
          {confirm}
        </Button>
      </div>
    </>
  )
}
