/** Copying texts. Browsers refuse it on pages without HTTPS: then the text is shown, to be copied by hand. */
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react"
import { DialogWaits } from "./dialog-waits.js"

// Most people never need it.
const CopyByHand = lazy(async () => ({ default: (await import("./copy-by-hand.js")).CopyByHand }))

const shownMs = 1500

export interface Copying {
  /** Whether a text was copied a moment ago. */
  readonly isCopied: boolean
  readonly copy: (text: string) => Promise<void>
  /** What the component must show beside its button. */
  readonly byHand: ReactNode
}

export function useCopy(): Copying {
  const [isCopied, setCopied] = useState(false)
  const [refused, setRefused] = useState<string>()
  useEffect(() => {
    if (!isCopied) return undefined
    const timer = setTimeout(() => setCopied(false), shownMs)
    return () => clearTimeout(timer)
  }, [isCopied])
  const copy = async (text: string) => {
    try {
      // Without HTTPS there is no clipboard, whatever the types say.
      await navigator.clipboard.writeText(text)
      setCopied(true)
    } catch {
      setRefused(text)
    }
  }
  const byHand = refused !== undefined && (
    <Suspense fallback={<DialogWaits />}>
      <CopyByHand text={refused} onClose={() => setRefused(undefined)} />
    </Suspense>
  )
  return { isCopied, copy, byHand }
}
