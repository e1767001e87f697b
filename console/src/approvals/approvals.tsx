/** The list of one agent's waiting interrupts, with the form of the chosen one beside it. */
import { Check, X } from "lucide-react"
import { useState } from "react"
import type { Selection } from "react-aria-components/GridList"
import { useAgent } from "../agent/use-agent.js"
import { Button, onlyReads } from "../frame/button.js"
import { Empty } from "../frame/empty.js"
import { useSearchState } from "../frame/search.js"
import { ApprovalList } from "./approval-list.js"
import { ApprovalPanel } from "./approval-panel.js"
import { answerOf, canApprove, canReject, type Decision } from "./interrupt.js"
import { Outcome } from "./outcome.js"
import { useAnswers, useApprovals } from "./use-approvals.js"
import type { WaitingInterrupt } from "./waiting.js"

const searchOf = (raw: Readonly<Record<string, unknown>>) => ({
  interrupt: typeof raw.interrupt === "string" ? raw.interrupt : undefined,
})

/** @param props.isOneOfMany  several agents are on the page, so one without questions takes one line */
export function Approvals({ isOneOfMany = false }: { isOneOfMany?: boolean }) {
  const waiting = useApprovals()
  const answers = useAnswers()
  const { mayRun } = useAgent()
  const [{ interrupt }, change] = useSearchState(searchOf)
  const [selected, setSelected] = useState<Selection>(new Set())
  const chosen = waiting.find(({ key }) => key === interrupt) ?? waiting[0]
  const marked = waiting.filter(({ key }) => selected === "all" || selected.has(key))
  const answerAll = (type: "approve" | "reject", from: readonly WaitingInterrupt[]) => {
    answers.mutate(from.flatMap((one) => decided(one, type)))
    setSelected(new Set())
  }
  const blocked = mayRun ? undefined : onlyReads
  return (
    <>
      <Outcome sent={answers.data} />
      {waiting.length === 0 && isOneOfMany && <p className="approvals-none">Nothing waits for an answer.</p>}
      {waiting.length === 0 && !isOneOfMany && (
        <Empty title="Nothing waits for an answer">
          When a graph calls <code>interrupt()</code>, its question appears here, from every thread of this agent.
        </Empty>
      )}
      {chosen && (
        <div className="approvals">
          <div className="approvals-side">
            <ManyBar marked={marked} blocked={blocked} isPending={answers.isPending} onAnswer={answerAll} />
            <ApprovalList
              waiting={waiting}
              chosen={chosen.key}
              selected={selected}
              onSelect={setSelected}
              onChoose={(key) => change({ interrupt: key })}
            />
          </div>
          <ApprovalPanel
            key={chosen.key}
            waiting={chosen}
            disabledBecause={blocked}
            isPending={answers.isPending}
            onAnswer={(answer) => answers.mutate([{ waiting: chosen, answer }])}
          />
        </div>
      )}
    </>
  )
}

interface ManyBarProps {
  readonly marked: readonly WaitingInterrupt[]
  readonly blocked: string | undefined
  readonly isPending: boolean
  readonly onAnswer: (type: "approve" | "reject", marked: readonly WaitingInterrupt[]) => void
}

/** Answers all marked questions in one way, if each of them allows it. */
function ManyBar({ marked, blocked, isPending, onAnswer }: ManyBarProps) {
  const because = (can: (one: WaitingInterrupt) => boolean, word: string) => {
    if (blocked !== undefined || marked.length === 0) return blocked ?? "Mark questions in the list first."
    const others = marked.filter((one) => !can(one)).length
    return others === 0
      ? undefined
      : `${others} of the marked questions cannot be ${word}: they need an answer of their own.`
  }
  return (
    <div className="approvals-many">
      <span className="soft number" aria-live="polite">
        {marked.length} marked
      </span>
      <Button
        isPending={isPending}
        disabledBecause={because(({ question }) => canApprove(question), "approved")}
        onPress={() => onAnswer("approve", marked)}
      >
        <Check size={14} aria-hidden /> Approve
      </Button>
      <Button
        look="danger"
        isPending={isPending}
        disabledBecause={because(({ question }) => canReject(question), "rejected")}
        onPress={() => onAnswer("reject", marked)}
      >
        <X size={14} aria-hidden /> Reject
      </Button>
    </div>
  )
}

function decided(waiting: WaitingInterrupt, type: "approve" | "reject") {
  const { question } = waiting
  if (question.kind !== "actions") return []
  const decision: Decision = type === "approve" ? { type } : { type, text: "" }
  return [
    {
      waiting,
      answer: answerOf(
        question,
        question.actions.map(() => decision),
      ),
    },
  ]
}
