/** "Copy as curl": the requests behind a page, as commands. */
import { Check, Terminal } from "lucide-react"
import { useState } from "react"
import { Button } from "./button.js"
import { type ApiRequest, curlOf } from "./curl.js"
import { useHome } from "./home.js"

const shownMs = 1500

export function CurlButton({ requests }: { requests: readonly ApiRequest[] }) {
  const [isCopied, setCopied] = useState(false)
  const { base } = useHome()
  const copy = async () => {
    const commands = requests.map((request) => curlOf({ ...request, url: new URL(request.url, base).href }))
    await navigator.clipboard.writeText(commands.join("\n"))
    setCopied(true)
    setTimeout(() => setCopied(false), shownMs)
  }
  return (
    <Button look="quiet" onPress={copy} tip="Copies the requests of this page as commands">
      {isCopied ? <Check size={14} /> : <Terminal size={14} />}
      <span aria-live="polite">{isCopied ? "Copied" : "Copy as curl"}</span>
    </Button>
  )
}
