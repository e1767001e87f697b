/** A text to copy, such as an address or a command. */
import { Check, Copy } from "lucide-react"
import { useState } from "react"
import { Button } from "./button.js"

const shownMs = 1500

export function CopyText({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), shownMs)
  }
  return (
    <span className="copy-text">
      <code>{text}</code>
      <Button look="quiet" onPress={copy} label={isCopied ? "Copied" : `Copy ${label}`}>
        {isCopied ? <Check size={14} /> : <Copy size={14} />}
      </Button>
    </span>
  )
}
