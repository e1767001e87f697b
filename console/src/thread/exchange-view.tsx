/** A question of the graph in the conversation, with the answer that it got, who gave it and when. */
import { Link } from "@tanstack/react-router"
import { studioUser } from "../agent/refusal.js"
import { useAgent } from "../agent/use-agent.js"
import { type Action, type Interrupt, questionOf, titleOf } from "../approvals/interrupt.js"
import { Hand, MessageSquareReply } from "../frame/icons.js"
import { Ago } from "../frame/time.js"
import { JsonText } from "../messages/json-text.js"
import { Markdown } from "../messages/markdown.js"
import { answerText } from "./answer-text.js"
import type { Answer, Exchange } from "./exchanges.js"

interface Props {
  readonly threadId: string
  readonly exchange: Exchange
}

export function ExchangeView({ threadId, exchange: { interrupt, answer, isOpen } }: Props) {
  return (
    <article className="exchange" aria-label="Question and answer">
      <header className="message-head">
        <Hand size={14} aria-hidden />
        <span>Question</span>
      </header>
      <Asked interrupt={interrupt} />
      {answer ? (
        <Answered threadId={threadId} answer={answer} />
      ) : (
        <p className="exchange-none soft">
          {isOpen ? "Not answered at this point." : "The thread went on without an answer."}
        </p>
      )}
    </article>
  )
}

function Asked({ interrupt }: { interrupt: Interrupt }) {
  const question = questionOf(interrupt)
  if (question.kind === "actions")
    return (
      <>
        {question.actions.map((action, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the calls of one question never change places
          <AskedAction key={n} action={action} />
        ))}
      </>
    )
  return (
    <>
      <p className="exchange-question">{titleOf(question)}</p>
      {question.text !== undefined && question.details !== undefined && (
        <JsonText value={question.details} label="Details of the question" />
      )}
    </>
  )
}

function AskedAction({ action: { name, args, description } }: { action: Action }) {
  return (
    <>
      <p className="exchange-question">
        May <code>{name}</code> be called?
      </p>
      {description !== undefined && <Markdown text={description} />}
      <JsonText value={args} label={`Arguments of ${name}`} />
    </>
  )
}

function Answered({ threadId, answer: { value, at, by, runId, failed } }: { threadId: string; answer: Answer }) {
  const { base } = useAgent()
  const text = answerText(value)
  return (
    <div className={failed ? "exchange-answer exchange-failed" : "exchange-answer"}>
      <p className="message-head">
        <MessageSquareReply size={14} aria-hidden />
        <span>Answer</span>
        {by !== undefined && <span>{by === studioUser ? "from the console" : `by ${by}`}</span>}
        <Link to={`${base}/threads/${threadId}/runs/${runId}`}>
          <Ago at={at} />
        </Link>
      </p>
      {text === undefined ? <JsonText value={value} label="Answer" /> : <p className="message-plain">{text}</p>}
      {failed && <p className="exchange-problem">The run failed with this answer.</p>}
    </div>
  )
}
