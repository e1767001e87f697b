/** The list of one agent's waiting interrupts, with the form of the chosen one beside it. */

import { useRef, useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { approvalRefusal, Button } from "../frame/button.js"
import { Empty } from "../frame/empty.js"
import { Check, X } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { useSearchState } from "../frame/search.js"
import { ApprovalList } from "./approval-list.js"
import { ApprovalPanel } from "./approval-panel.js"
import { answerOf, canApprove, canReject, type Decision } from "./interrupt.js"
import { Outcome } from "./outcome.js"
import { marksAfter, marksOf, shownOf } from "./shown.js"
import { useAnswers, useApprovals } from "./use-approvals.js"
import type { Answered, WaitingInterrupt } from "./waiting.js"

const searchOf = (raw: Readonly<Record<string, unknown>>) => ({
  interrupt: typeof raw.interrupt === "string" ? raw.interrupt : undefined,
})

/** @param props.among  how many agents are on a page of all of them: there one without questions takes one line */
export function Approvals({ among }: { among?: number }) {
  const waiting = useApprovals(among)
  const isOneOfMany = among !== undefined
  const answers = useAnswers()
  const blocked = approvalRefusal(useAgent())
  const [{ interrupt }, change] = useSearchState(searchOf)
  const [marks, setMarks] = useState<ReadonlySet<string>>(new Set())
  const [before, setBefore] = useState<string>()
  const shown = shownOf(waiting, interrupt, before)
  if (shown !== undefined && shown !== before) setBefore(shown)
  const chosen = waiting.find(({ key }) => key === shown)
  const marked = waiting.filter(({ key }) => marks.has(key))
  const send = (answered: readonly Answered[]) => {
    answers.mutate(answered, {
      onSuccess: (sent) => {
        setMarks((now) => marksAfter(now, answered, sent))
        const isAnswered = sent.some(({ threadId, runId }) => runId !== undefined && threadId === chosen?.threadId)
        if (!isAnswered) return
        // Its graph may ask the same again: that is another question.
        setBefore(nothing)
        if (interrupt === shown) change({ interrupt: undefined })
      },
    })
  }
  const answerAll = (type: "approve" | "reject", from: readonly WaitingInterrupt[]) =>
    send(from.flatMap((one) => decided(one, type)))
  // In a narrow window the question is below the list.
  const panel = useRef<HTMLDivElement>(null)
  const choose = (key: string) => {
    change({ interrupt: key })
    requestAnimationFrame(() => panel.current?.scrollIntoView({ block: "nearest" }))
  }
  return (
    <>
      <Outcome sent={answers.data} />
      {answers.error && <Problem error={answers.error} />}
      {waiting.length === 0 && isOneOfMany && <p className="soft">Nothing waits for an answer.</p>}
      {waiting.length === 0 && !isOneOfMany && (
        <Empty title="Nothing waits for an answer">
          When a graph calls <code>interrupt()</code>, its question appears here, from every thread of this agent.
        </Empty>
      )}
      {waiting.length > 0 && (
        <div className="approvals beside">
          <div className="approvals-side">
            <ManyBar marked={marked} blocked={blocked} isPending={answers.isPending} onAnswer={answerAll} />
            <ApprovalList
              waiting={waiting}
              chosen={shown}
              selected={marks}
              onSelect={(selection) => setMarks(marksOf(selection, waiting))}
              onChoose={choose}
            />
          </div>
          <div ref={panel} className="approvals-panel">
            {chosen ? (
              <ApprovalPanel
                key={chosen.key}
                waiting={chosen}
                disabledBecause={blocked}
                isPending={answers.isPending}
                onAnswer={(answer) => send([{ waiting: chosen, answer }])}
              />
            ) : (
              <Empty
                title="No question is open"
                action={<Button onPress={() => change({ interrupt: waiting[0]?.key })}>Show the first one</Button>}
              >
                Choose one in the list. Those that were answered have left it.
              </Empty>
            )}
          </div>
        </div>
      )}
    </>
  )
}

/** The key of no question. */
const nothing = ""

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
