/** A text to copy with the keyboard, where the browser gives the page no clipboard. */
import { Button } from "./button.js"
import { OpenDialog } from "./dialog.js"

const mostRows = 12

export function CopyByHand({ text, onClose }: { text: string; onClose: () => void }) {
  return (
    <OpenDialog title="Copy the selected text" onClose={onClose}>
      <p className="dialog-text">
        This browser lets the page copy nothing, as it does without HTTPS. Press Ctrl+C, or Cmd+C on a Mac.
      </p>
      <textarea
        className="copy-by-hand mono"
        aria-label="Text to copy"
        readOnly
        // biome-ignore lint/a11y/noAutofocus: it is the only thing to do in this dialog
        autoFocus
        rows={Math.min(mostRows, text.split("\n").length + 1)}
        value={text}
        onFocus={({ target }) => target.select()}
      />
      <div className="dialog-actions">
        <Button onPress={onClose}>Close</Button>
      </div>
    </OpenDialog>
  )
}
