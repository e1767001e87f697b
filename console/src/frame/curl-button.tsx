/** "Copy as curl": the requests behind a page, as commands. */

import { type ApiRequest, curlOf } from "../requests/curl.js"
import { useHome } from "../requests/home.js"
import { Button } from "./button.js"
import { Check, Terminal } from "./icons.js"
import { useCopy } from "./use-copy.js"

export function CurlButton({ requests }: { requests: readonly ApiRequest[] }) {
  const { isCopied, copy, byHand } = useCopy()
  const { base } = useHome()
  const commands = () => requests.map((request) => curlOf({ ...request, url: new URL(request.url, base).href }))
  return (
    <>
      <Button
        look="quiet"
        onPress={() => void copy(commands().join("\n"))}
        tip="Copies the requests of this page as commands"
      >
        {isCopied ? <Check size={14} /> : <Terminal size={14} />}
        <span className="curl-words" aria-live="polite">
          {isCopied ? "Copied" : "Copy as curl"}
        </span>
      </Button>
      {byHand}
    </>
  )
}
