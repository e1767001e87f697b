/** The messages of a conversation, with its questions and answers between them, and what can be done with each. */
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { MessageEditor } from "../composer/message-editor.js"
import { Button, onlyReads } from "../frame/button.js"
import { ChevronLeft, ChevronRight, Pencil } from "../frame/icons.js"
import { MessageView } from "../messages/message-view.js"
import { type RawMessage, type ShownMessage, shownMessages } from "../messages/messages.js"
import type { Turn } from "./branches.js"

export interface MessageActions {
  /** By the ids of human messages. */
  readonly turns: ReadonlyMap<string, Turn>
  /** Shows another version. @param checkpointId  the newest one that came of it */
  readonly onShow: (checkpointId: string) => void
  /** Sends another version of a message, from the checkpoint before it. */
  readonly onSendAgain: (content: unknown, from: string) => Promise<void>
  /** Why no message can be sent now. */
  readonly blocked: string | undefined
}

interface Props extends MessageActions {
  readonly messages: readonly RawMessage[]
  /** Whether a run is writing messages. */
  readonly isRunning: boolean
  /** What is shown between messages: behind the one with the id; "" for those before all messages. */
  readonly between: ReadonlyMap<string, ReactNode>
}

export function MessageList({ messages, isRunning, between, ...actions }: Props) {
  const shown = useMemo(() => shownMessages(messages), [messages])
  const behind = useMemo(() => placesOf(messages, shown, between), [messages, shown, between])
  const raw = useMemo(() => new Map(messages.map((message) => [message.id, message])), [messages])
  return (
    <>
      {behind.get("")}
      {shown.map((message, position) => {
        const isLast = position === shown.length - 1
        const view = (
          <MessageView
            message={message}
            isGrowing={isRunning && isLast && message.speaker === "ai"}
            isOver={!isRunning}
          />
        )
        const turn = message.speaker === "human" ? actions.turns.get(message.id ?? "") : undefined
        return (
          <Placed key={message.key} below={behind.get(message.key)}>
            {turn ? (
              <HumanTurn {...actions} turn={turn} content={raw.get(message.id)?.content}>
                {view}
              </HumanTurn>
            ) : (
              view
            )}
          </Placed>
        )
      })}
    </>
  )
}

const Placed = ({ children, below }: { children: ReactNode; below: ReactNode }) => (
  <>
    {children}
    {below}
  </>
)

/** Messages that are not shown themselves, such as results of tools, stand behind the shown one before them. */
function placesOf(messages: readonly RawMessage[], shown: readonly ShownMessage[], between: Props["between"]) {
  const keys = new Map(shown.map(({ id, key }) => [id, key]))
  const places = new Map<string, ReactNode[]>()
  const put = (key: string, node: ReactNode) => places.set(key, [...(places.get(key) ?? []), node])
  let last = ""
  const known = new Set<string>()
  for (const { id = "" } of messages) {
    last = keys.get(id) ?? last
    if (!between.has(id)) continue
    known.add(id)
    put(last, between.get(id))
  }
  // A message that was removed from the state since: what stood behind it is older than all others.
  for (const [id, node] of between) if (!known.has(id)) put("", node)
  return places
}

interface TurnProps extends Omit<MessageActions, "turns"> {
  readonly turn: Turn
  readonly content: unknown
  readonly children: ReactNode
}

function HumanTurn({ turn: { from, versions }, content, children, onShow, onSendAgain, blocked }: TurnProps) {
  const { mayRun } = useAgent()
  const [isEditing, setEditing] = useState(false)
  const wasEditing = useRef(false)
  const actions = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // Whoever leaves the editor is where it was opened.
    if (wasEditing.current && !isEditing) actions.current?.querySelector<HTMLElement>(":scope > .button")?.focus()
    wasEditing.current = isEditing
  }, [isEditing])
  const at = versions.findIndex(({ isShown }) => isShown)
  const show = (n: number) => {
    const version = versions[n]
    if (version) onShow(version.tip)
  }
  if (isEditing && from !== undefined)
    return (
      <MessageEditor
        content={content}
        blocked={blocked}
        onSend={(next) => onSendAgain(next, from)}
        onClose={() => setEditing(false)}
      />
    )
  return (
    <div className="turn">
      {children}
      <div ref={actions} className="turn-actions">
        {versions.length > 1 && (
          <span className="turn-versions">
            <Button
              look="quiet"
              label="Earlier version"
              disabledBecause={at > 0 ? undefined : "This is the first version."}
              onPress={() => show(at - 1)}
            >
              <ChevronLeft size={13} aria-hidden />
            </Button>
            <span className="number" role="status" aria-label={`Version ${at + 1} of ${versions.length}`}>
              {at + 1}/{versions.length}
            </span>
            <Button
              look="quiet"
              label="Later version"
              disabledBecause={at < versions.length - 1 ? undefined : "This is the last version."}
              onPress={() => show(at + 1)}
            >
              <ChevronRight size={13} aria-hidden />
            </Button>
          </span>
        )}
        <Button
          look="quiet"
          label="Edit the message"
          tip="Edit it and send it again. What came of it stays, as a version."
          disabledBecause={mayRun ? blocked : onlyReads}
          onPress={() => setEditing(true)}
        >
          <Pencil size={13} aria-hidden />
        </Button>
      </div>
    </div>
  )
}
