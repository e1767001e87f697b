/** One file that changed, with its diff or the reason why there is none. */
import { useMemo, useState } from "react"
import { sizeText } from "../frame/time-text.js"
import type { ChangedFile } from "../platform/types.js"
import { countsOf, diffLines, signs } from "./diff-lines.js"

const reasons: Readonly<Record<NonNullable<ChangedFile["omitted"]>, string>> = {
  binary: "It is no text.",
  too_large: "It is longer than 100 kB.",
  secret: "It may hold secrets, so its content is not shown.",
  link: "It is a link.",
  limit: "The files above have used up the space for diffs.",
}

export function FileChange({ file, isOpenFirst }: { file: ChangedFile; isOpenFirst: boolean }) {
  const [isOpen, setOpen] = useState(isOpenFirst)
  const lines = useMemo(() => diffLines(file.diff ?? ""), [file.diff])
  const { added, removed } = countsOf(lines)
  const size = file.size_after ?? file.size_before ?? 0
  return (
    <li>
      <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <code>{file.path}</code> <span className="faint">{file.change}</span>{" "}
          {added > 0 && <span className="code-added">+{added}</span>}{" "}
          {removed > 0 && <span className="code-removed">−{removed}</span>}
        </summary>
        {file.omitted !== null && (
          <p className="faint">
            {reasons[file.omitted]} {sizeText(size)}
          </p>
        )}
        {file.omitted === null && lines.length === 0 && (
          <p className="faint">Only its mode changed, or a secret in it.</p>
        )}
        {isOpen && lines.length > 0 && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
          <pre className="code-diff" tabIndex={0}>
            {lines.map(({ kind, text }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one diff never move
              <span key={index} className={`code-line code-line-${kind}`}>
                {signs[kind]}
                {text}
                {"\n"}
              </span>
            ))}
          </pre>
        )}
      </details>
    </li>
  )
}
