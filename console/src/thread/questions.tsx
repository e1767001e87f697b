/** What a paused thread waits for: each interrupt with the form that answers it. */
import { useMutation } from "@tanstack/react-query"
import { useAgent } from "../agent/use-agent.js"
import { AnswerForm } from "../approvals/answer-form.js"
import type { Sending } from "../composer/sending.js"
import { notApproving, onlyReads } from "../frame/button.js"
import { Problem } from "../frame/problem.js"
import type { TreeItem } from "../time-travel/checkpoint-tree.js"

interface Interrupt {
  readonly id: string
  readonly value: unknown
}

export function Questions({ answer: send, present }: { answer: Sending["answer"]; present: TreeItem }) {
  const { mayRun, mayApprove } = useAgent()
  const interrupts = (present.item.tasks ?? []).flatMap((task) => (task.interrupts ?? []) as readonly Interrupt[])
  const answering = useMutation({
    mutationFn: ({ id, answer }: { id: string; answer: unknown }) => send(id, answer),
  })
  return (
    <>
      {answering.error && <Problem error={answering.error} />}
      {interrupts.map((interrupt) => (
        <div key={interrupt.id} className="chat-question">
          <AnswerForm
            interrupt={interrupt as never}
            onAnswer={(answer: unknown) => answering.mutate({ id: interrupt.id, answer })}
            isPending={answering.isPending}
            disabledBecause={mayApprove ? undefined : mayRun ? notApproving : onlyReads}
          />
        </div>
      ))}
    </>
  )
}
