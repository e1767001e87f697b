/** A text to copy with the keyboard, where the browser gives the page no clipboard. */
import { Dialog } from "react-aria-components/Dialog"
import { Heading } from "react-aria-components/Heading"
import { Modal, ModalOverlay } from "react-aria-components/Modal"
import { Button } from "./button.js"

const mostRows = 12

export function CopyByHand({ text, onClose }: { text: string; onClose: () => void }) {
  return (
    <ModalOverlay className="dialog-overlay" isDismissable isOpen onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Modal className="dialog">
        <Dialog>
          <Heading slot="title">Copy the selected text</Heading>
          <p className="dialog-text">
            This browser lets the page copy nothing, as it does without HTTPS. Press Ctrl+C, or Cmd+C on a Mac.
          </p>
          <textarea
            className="copy-by-hand mono"
            aria-label="Text to copy"
            readOnly
            autoFocus
            rows={Math.min(mostRows, text.split("\n").length + 1)}
            value={text}
            onFocus={({ target }) => target.select()}
          />
          <div className="dialog-actions">
            <Button onPress={onClose}>Close</Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
