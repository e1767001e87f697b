/** What a paused thread waits for: each interrupt with the form that answers it. */
import { useMutation } from "@tanstack/react-query"
import { useAgent } from "../agent/use-agent.js"
import { AnswerForm } from "../approvals/answer-form.js"
import type { Interrupt } from "../approvals/interrupt.js"
import { questionKey } from "../approvals/waiting.js"
import type { Sending } from "../composer/sending.js"
import { notApproving, onlyReads } from "../frame/button.js"
import { Problem } from "../frame/problem.js"
import type { TreeItem } from "../time-travel/checkpoint-tree.js"

export function Questions({ answer: send, present }: { answer: Sending["answer"]; present: TreeItem }) {
  const { mayRun, mayApprove } = useAgent()
  const interrupts = (present.item.tasks ?? []).flatMap((task) => (task.interrupts ?? []) as readonly Interrupt[])
  const answering = useMutation({
    mutationFn: ({ question, answer }: { question: Interrupt; answer: unknown }) => send(question, answer),
  })
  return (
    <>
      {answering.error && <Problem error={answering.error} />}
      {interrupts.map((question) => (
        <div key={questionKey(question)} className="chat-question">
          <AnswerForm
            interrupt={question}
            onAnswer={(answer: unknown) => answering.mutate({ question, answer })}
            isPending={answering.isPending}
            disabledBecause={mayApprove ? undefined : mayRun ? notApproving : onlyReads}
          />
        </div>
      ))}
    </>
  )
}
