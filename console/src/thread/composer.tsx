/** Where a person writes to the agent. Enter sends, Shift+Enter begins a line. */
import { useMutation } from "@tanstack/react-query"
import { ArrowUp, Square } from "lucide-react"
import { type KeyboardEvent, useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { Button, onlyReads } from "../frame/button.js"
import { Problem } from "../frame/problem.js"
import type { Conversation } from "./thread-stream.js"

interface Props {
  readonly conversation: Conversation
  readonly chatKey: string
  readonly isRunning: boolean
}

const maxRows = 8

export function Composer({ conversation, chatKey, isRunning }: Props) {
  const { mayRun } = useAgent()
  const [text, setText] = useState("")
  const [error, setError] = useState<unknown>()
  const blocked = mayRun ? (text.trim() === "" ? "Write a message first." : undefined) : onlyReads
  const send = () => {
    if (blocked !== undefined || isRunning) return
    setText("")
    setError(undefined)
    const input = { [chatKey]: [{ type: "human", content: text }] }
    conversation.submit(input as never).catch((problem: unknown) => {
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
      {error !== undefined && <Problem error={error} />}
      <div className="composer-box">
        <textarea
          aria-label="Message"
          placeholder={mayRun ? "Message the agent" : "Your key may only read"}
          rows={Math.min(maxRows, Math.max(1, text.split("\n").length))}
          value={text}
          disabled={!mayRun}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKey}
        />
        {isRunning ? (
          <StopButton conversation={conversation} onError={setError} />
        ) : (
          <Button look="primary" label="Send" disabledBecause={blocked} onPress={send}>
            <ArrowUp size={16} aria-hidden />
          </Button>
        )}
      </div>
    </div>
  )
}

interface StopProps {
  readonly conversation: Conversation
  /** Shows why the run was not stopped. */
  readonly onError: (error: unknown) => void
}

export function StopButton({ conversation, onError }: StopProps) {
  const { mayRun } = useAgent()
  const stopping = useMutation({ mutationFn: () => conversation.stop(), onError })
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
