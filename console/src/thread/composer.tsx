/** Where a person writes to the agent. Enter sends, Shift+Enter begins a line. */
import { useMutation } from "@tanstack/react-query"
import { type KeyboardEvent, useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { Button, onlyReads } from "../frame/button.js"
import { ArrowUp, Square } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { QuestionIsOpen, type Sending } from "./sending.js"

interface Props {
  readonly sending: Sending
  readonly chatKey: string
  readonly isRunning: boolean
  /** Why no message can be sent now. */
  readonly blocked: string | undefined
}

const maxRows = 8

export function Composer({ sending, chatKey, isRunning, blocked }: Props) {
  const { mayRun } = useAgent()
  const [text, setText] = useState("")
  const [error, setError] = useState<unknown>()
  const isEmpty = text.trim() === ""
  const because = mayRun ? (blocked ?? (isEmpty ? "Write a message first." : undefined)) : onlyReads
  const send = () => {
    if (because !== undefined || isRunning) return
    setText("")
    setError(undefined)
    const input = { [chatKey]: [{ type: "human", content: text }] }
    sending.start(input).catch((problem: unknown) => {
      setError(problem)
      setText(text)
    })
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }
  return (
    <div className="composer">
      {error !== undefined && <NotSent error={error} />}
      <div className="composer-box">
        <textarea
          aria-label="Message"
          placeholder={mayRun ? (blocked ?? "Message the agent") : "Your key may only read"}
          rows={Math.min(maxRows, Math.max(1, text.split("\n").length))}
          value={text}
          disabled={!mayRun || blocked !== undefined}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKey}
        />
        {isRunning ? (
          <StopButton sending={sending} onError={setError} />
        ) : (
          <Button look="primary" label="Send" disabledBecause={because} onPress={send}>
            <ArrowUp size={16} aria-hidden />
          </Button>
        )}
      </div>
    </div>
  )
}

/** In place of the input while it is not known what the graph takes: a run can be stopped all the same. */
export function InputPending({ sending, isRunning }: Pick<Props, "sending" | "isRunning">) {
  const [error, setError] = useState<unknown>()
  return (
    <div className="composer">
      {error !== undefined && <NotSent error={error} />}
      <p className="soft" role="status">
        The server is reading what the graph takes as input.
      </p>
      {isRunning && <StopButton sending={sending} onError={setError} />}
    </div>
  )
}

export const NotSent = ({ error }: { error: unknown }) => (
  <Problem
    error={error}
    next={error instanceof QuestionIsOpen ? "Answer its question, then send the message again." : undefined}
  />
)

interface StopProps {
  readonly sending: Sending
  /** Shows why the run was not stopped. */
  readonly onError: (error: unknown) => void
}

export function StopButton({ sending, onError }: StopProps) {
  const { mayRun } = useAgent()
  const stopping = useMutation({ mutationFn: sending.stop, onError })
  return (
    <Button
      label="Stop the run"
      disabledBecause={mayRun ? undefined : onlyReads}
      isPending={stopping.isPending}
      onPress={() => stopping.mutate()}
    >
      <Square size={13} aria-hidden /> Stop
    </Button>
  )
}
