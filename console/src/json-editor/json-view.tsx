/** JSON to read, in colours. */
import { memo } from "react"
import { jsonTokens } from "./json-tokens.js"

export const JsonView = memo(({ value, label }: { value: unknown; label?: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a long value scrolls, also by keyboard
  <pre className="json" tabIndex={0} {...(label !== undefined && { role: "region", "aria-label": label })}>
    {jsonTokens(JSON.stringify(value, null, 2) ?? "undefined").map(({ kind, text }, n) =>
      kind === "plain" ? (
        text
      ) : (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text, which changes as a whole
        <span key={n} className={`json-${kind}`}>
          {text}
        </span>
      ),
    )}
  </pre>
))
