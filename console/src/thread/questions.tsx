/** What a paused thread waits for: each interrupt with the form that answers it. */
import { useState } from "react"
import { AnswerForm } from "../approvals/answer-form.js"
import type { Interrupt } from "../approvals/interrupt.js"
import { questionKey } from "../approvals/waiting.js"
import type { Sending } from "../composer/sending.js"
import type { TreeItem } from "../time-travel/checkpoint-tree.js"

interface Props {
  readonly sending: Sending
  readonly present: TreeItem
  /** What was typed stays: after a run of another client the thread may ask the same. */
  readonly isHidden: boolean
  /** Why they cannot be answered. */
  readonly refusal: string | undefined
}

export function Questions({ sending, present, isHidden, refusal }: Props) {
  const questions = (present.item.tasks ?? []).flatMap((task) => (task.interrupts ?? []) as readonly Interrupt[])
  const [answered, setAnswered] = useState<readonly string[]>([])
  return questions.map((question) => {
    const key = questionKey(question)
    // One that is asked again after its answer begins empty.
    const times = answered.filter((each) => each === key).length
    const send = async (answer: unknown) => {
      await sending.answer(question, answer)
      setAnswered((before) => [...before, key])
    }
    return (
      <div key={`${key}/${times}`} className="chat-question" hidden={isHidden}>
        <AnswerForm
          interrupt={question}
          // The conversation shows why it was refused.
          onAnswer={(answer) => send(answer).catch(() => {})}
          isPending={sending.isSending}
          disabledBecause={refusal}
        />
      </div>
    )
  })
}
