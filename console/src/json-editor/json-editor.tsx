/** Edits JSON as a text. The editor itself is loaded when one is shown. */
import { lazy, Suspense, useId, useState } from "react"
import { jsonText, parseJson } from "./json-text.js"

const CodeEditor = lazy(() => import("./code-editor.js"))

export interface JsonEditorProps {
  readonly label: string
  /** What the editor starts with; to start anew, give the component another `key`. */
  readonly value: unknown
  /** Called with each change: the value, or undefined while the text is no JSON. */
  readonly onChange: (value: unknown, problem: string | undefined) => void
  readonly isReadOnly?: boolean
  readonly isLabelHidden?: boolean
}

export function JsonEditor({ label, value, onChange, isReadOnly = false, isLabelHidden = false }: JsonEditorProps) {
  const id = useId()
  const [initial] = useState(() => jsonText(value))
  const [problem, setProblem] = useState<string | undefined>()
  const change = (text: string) => {
    const parsed = parseJson(text)
    setProblem(parsed.problem)
    onChange(parsed.value, parsed.problem)
  }
  return (
    <div className="json-editor">
      <span id={id} className={isLabelHidden ? "visually-hidden" : "label"}>
        {label}
      </span>
      <Suspense fallback={<pre className="json json-editor-loading">{initial}</pre>}>
        <CodeEditor labelId={id} initial={initial} onChange={change} isReadOnly={isReadOnly} />
      </Suspense>
      {problem !== undefined && (
        <p className="field-problem" role="status">
          {problem}
        </p>
      )}
    </div>
  )
}
