/** The navigation of a narrow window: it opens over the page, and closes where it leads. */
import type { ReactNode } from "react"
import { Dialog } from "react-aria-components/Dialog"
import { Modal, ModalOverlay } from "react-aria-components/Modal"

interface DrawerProps {
  readonly onClose: () => void
  readonly children: ReactNode
}

export const Drawer = ({ onClose, children }: DrawerProps) => (
  <ModalOverlay className="drawer-overlay" isOpen onOpenChange={onClose} isDismissable>
    <Modal className="drawer">
      <Dialog aria-label="Navigation">{children}</Dialog>
    </Modal>
  </ModalOverlay>
)
