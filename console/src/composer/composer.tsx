/** Where a person writes to the agent. Enter sends, Shift+Enter begins a line. Files are chosen, pasted or dropped. */
import { useMutation } from "@tanstack/react-query"
import { type ClipboardEvent, type DragEvent, type KeyboardEvent, useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { QuestionChanged } from "../approvals/answers.js"
import { Button, onlyReads } from "../frame/button.js"
import { ArrowUp, Square } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { contentOf } from "../messages/attachments.js"
import { AttachButton, AttachedFiles, useAttachments } from "./attached-files.js"
import { humanMessage } from "./human-message.js"
import { putBackText } from "./put-back-text.js"
import { QuestionIsOpen, type Sending } from "./sending.js"

interface Props {
  readonly sending: Sending
  readonly chatKey: string
  readonly isRunning: boolean
  /** Why no message can be sent now. */
  readonly blocked: string | undefined
  /** The checkpoint that a message starts at; undefined for the present state. */
  readonly from: string | undefined
}

const maxRows = 8

export function Composer({ sending, chatKey, isRunning, blocked, from }: Props) {
  const { mayRun } = useAgent()
  const [text, setText] = useState("")
  const [error, setError] = useState<unknown>()
  const { files, isReading, add, remove, clear, putBack } = useAttachments(setError)
  const isEmpty = text.trim() === "" && files.length === 0
  const notReady = isReading
    ? "The attached files are still being read."
    : isEmpty
      ? "Write a message first."
      : undefined
  const because = mayRun ? (blocked ?? notReady) : onlyReads
  const canWrite = mayRun && blocked === undefined
  const send = () => {
    if (because !== undefined || isRunning) return
    setText("")
    clear()
    setError(undefined)
    const message = humanMessage(
      contentOf(
        text,
        files.map(({ block }) => block),
      ),
    )
    sending.start({ [chatKey]: [message] }, { messages: [message], from }).catch((problem: unknown) => {
      setError(problem)
      setText((typedSince) => putBackText(text, typedSince))
      putBack(files)
    })
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }
  const take = (event: ClipboardEvent | DragEvent, given: FileList) => {
    if (!canWrite || given.length === 0) return
    event.preventDefault()
    add(given)
  }
  const hint = from === undefined ? "Message the agent" : "Message the agent from this checkpoint"
  return (
    <div className="composer">
      {error !== undefined && <NotSent error={error} />}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button beside it does the same */}
      <div
        className="composer-box"
        onDragOver={(event) => canWrite && event.preventDefault()}
        onDrop={(event) => take(event, event.dataTransfer.files)}
      >
        <AttachedFiles files={files} onRemove={remove} />
        <AttachButton disabledBecause={mayRun ? blocked : onlyReads} onFiles={add} />
        <textarea
          aria-label="Message"
          placeholder={mayRun ? (blocked ?? hint) : "Your key may only read"}
          rows={Math.min(maxRows, Math.max(1, text.split("\n").length))}
          value={text}
          disabled={!canWrite}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKey}
          onPaste={(event) => take(event, event.clipboardData.files)}
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

export const NotSent = ({ error }: { error: unknown }) => <Problem error={error} next={nextStepOf(error)} />

function nextStepOf(error: unknown): string | undefined {
  if (error instanceof QuestionIsOpen) return "Answer its question, then send the message again."
  return error instanceof QuestionChanged ? "Look at what has happened in the thread since." : undefined
}

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
