/** A message while it is edited in its place. Its files stay as they are. */
import { useMutation } from "@tanstack/react-query"
import { useState } from "react"
import { Form } from "../forms/form.js"
import { Button } from "../frame/button.js"
import { Problem } from "../frame/problem.js"
import { contentOf, filesIn } from "../messages/attachments.js"
import { textOf } from "../messages/messages.js"

interface Props {
  /** What the message has now. */
  readonly content: unknown
  /** Why it cannot be sent now. */
  readonly blocked: string | undefined
  readonly onSend: (content: unknown) => Promise<void>
  readonly onClose: () => void
}

const mostRows = 12

export function MessageEditor({ content, blocked, onSend, onClose }: Props) {
  const files = filesIn(content)
  const [text, setText] = useState(() => textOf(Array.isArray(content) ? content.filter(isText) : content))
  const sending = useMutation({ mutationFn: () => onSend(contentOf(text, files)), onSuccess: onClose })
  const because = blocked ?? (text.trim() === "" && files.length === 0 ? "Write a message first." : undefined)
  return (
    <Form
      className="message-editor"
      aria-label="Edit the message"
      onSend={() => because === undefined && sending.mutate()}
    >
      <textarea
        aria-label="Text of the message"
        // biome-ignore lint/a11y/noAutofocus: the button that was pressed has become this field
        autoFocus
        rows={Math.min(mostRows, Math.max(2, text.split("\n").length))}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && onClose()}
      />
      {sending.error && <Problem error={sending.error} />}
      <div className="answer-buttons">
        <Button type="submit" look="primary" disabledBecause={because} isPending={sending.isPending}>
          Send again
        </Button>
        <Button onPress={onClose}>Cancel</Button>
      </div>
    </Form>
  )
}

const isText = (part: unknown): boolean =>
  typeof part === "string" ||
  (typeof part === "object" && part !== null && (part as { type?: unknown }).type === "text")
