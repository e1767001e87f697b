/** A text to copy, such as an address or a command. */

import { Button } from "./button.js"
import { Check, Copy } from "./icons.js"
import { useCopy } from "./use-copy.js"

export function CopyText({ text, label }: { text: string; label: string }) {
  const { isCopied, copy, byHand } = useCopy()
  return (
    <span className="copy-text">
      <code className="cut">{text}</code>
      <Button look="quiet" onPress={() => void copy(text)} label={isCopied ? "Copied" : `Copy ${label}`}>
        {isCopied ? <Check size={14} /> : <Copy size={14} />}
      </Button>
      {byHand}
    </span>
  )
}
