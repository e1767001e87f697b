/** A tool call: its name and arguments in a line, its result below. */
import { Check, ChevronRight, CircleDashed, Minus, TriangleAlert } from "../frame/icons.js"
import { JsonText } from "./json-text.js"
import type { Block } from "./messages.js"

type Call = Extract<Block, { kind: "call" }>

interface Props {
  readonly call: Call
  /** Whether no result can come any more. */
  readonly isOver: boolean
}

export function ToolCallView({ call: { name, args, result }, isOver }: Props) {
  const state = result ? (result.isError ? "failed" : "done") : isOver ? "over" : "open"
  return (
    <details className={`tool tool-${state}`} open={result?.isError === true}>
      <summary className="tool-head">
        <ChevronRight size={13} className="tool-fold" aria-hidden />
        {state === "done" && <Check size={14} className="tool-mark" aria-label="done" />}
        {state === "failed" && <TriangleAlert size={14} className="tool-mark" aria-label="failed" />}
        {state === "over" && <Minus size={14} className="tool-mark tool-over-mark" aria-label="has no result here" />}
        {state === "open" && <CircleDashed size={14} className="tool-mark tool-open-mark" aria-label="no result yet" />}
        <span className="tool-name mono">{name}</span>
        <span className="tool-args soft mono cut">{summaryOf(args)}</span>
      </summary>
      <div className="tool-body">
        <h4>Arguments</h4>
        <JsonText value={args} label="arguments" />
        {result && (
          <>
            <h4>{result.isError ? "Error" : "Result"}</h4>
            <JsonText value={result.text} label="result" />
          </>
        )}
      </div>
    </details>
  )
}

function summaryOf(args: unknown): string {
  if (typeof args !== "object" || args === null) return typeof args === "string" ? args : ""
  return Object.entries(args)
    .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ")
    .slice(0, 200)
}
