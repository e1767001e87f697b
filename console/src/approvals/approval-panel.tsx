/** One waiting question: where it comes from, and the form that answers it. */
import { Link } from "@tanstack/react-router"
import { useAgent } from "../agent/use-agent.js"
import { ArrowUpRight } from "../frame/icons.js"
import { Ago } from "../frame/time.js"
import { AnswerForm } from "./answer-form.js"
import type { WaitingInterrupt } from "./waiting.js"

interface ApprovalPanelProps {
  readonly waiting: WaitingInterrupt
  readonly onAnswer: (answer: unknown) => void
  readonly disabledBecause: string | undefined
  readonly isPending: boolean
}

export function ApprovalPanel({ waiting, ...form }: ApprovalPanelProps) {
  const { base } = useAgent()
  const { threadId, graphId, since, title, interrupt, question } = waiting
  return (
    <section className="approval" aria-label={title}>
      <header className="approval-head">
        <h2>{title}</h2>
        <p className="approval-place note">
          {graphId !== undefined && <span>{graphId}</span>}
          <Link to={`${base}/threads/${threadId}`}>
            thread <span className="mono">{threadId.slice(-8)}</span> <ArrowUpRight size={12} aria-hidden />
          </Link>
          <span>
            asked <Ago at={since} />
          </span>
        </p>
      </header>
      <AnswerForm interrupt={interrupt} hidesQuestion={question.kind !== "actions"} {...form} />
    </section>
  )
}
