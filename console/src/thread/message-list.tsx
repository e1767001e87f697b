/** The messages of a conversation, with its questions and answers between them, and what can be done with each. */
import { memo, type ReactNode, useEffect, useMemo, useRef, useState } from "react"
import { MessageEditor } from "../composer/message-editor.js"
import { Button } from "../frame/button.js"
import { ChevronLeft, ChevronRight, Pencil } from "../frame/icons.js"
import { MessageView } from "../messages/message-view.js"
import { type RawMessage, type ShownMessage, shownMessages, withFormer } from "../messages/messages.js"
import type { Turn } from "./branches.js"
import { partOfEach, partsOf } from "./message-parts.js"
import { useFirstPart } from "./use-first-part.js"

export interface MessageActions {
  /** By the ids of human messages. */
  readonly turns: ReadonlyMap<string, Turn>
  /** Shows another version. @param checkpointId  the newest one that came of it */
  readonly onShow: (checkpointId: string) => void
  /** Sends another version of a message, from the checkpoint before it. */
  readonly onSendAgain: (content: unknown, from: string) => Promise<void>
  /** Why no message can be sent again now. */
  readonly blocked: string | undefined
}

interface Props extends MessageActions {
  readonly messages: readonly RawMessage[]
  /** Whether a run is writing messages. */
  readonly isRunning: boolean
  /** What is shown between messages: behind the one with the id; "" for those before all messages. */
  readonly between: ReadonlyMap<string, ReactNode>
}

export function MessageList({ messages, isRunning, between, turns, onShow, onSendAgain, blocked }: Props) {
  const former = useRef<{ shown: readonly ShownMessage[]; parts: ReadonlyMap<string, string> }>(nothing)
  const [shown, parts] = useMemo(() => {
    const now = withFormer(former.current.shown, shownMessages(messages))
    const inParts = partsOf(now, former.current.parts)
    former.current = { shown: now, parts: partOfEach(inParts) }
    return [now, inParts]
  }, [messages])
  const behind = useMemo(() => placesOf(messages, shown, between), [messages, shown, between])
  const raw = useMemo(() => new Map(messages.map((message) => [message.id, message])), [messages])
  const first = useFirstPart(parts.length)
  const actions = useLatest({ onShow, onSendAgain })
  const placed = (message: ShownMessage) => (
    <Placed
      key={message.key}
      message={message}
      isGrowing={isRunning && message.speaker === "ai" && message === shown.at(-1)}
      isOver={!isRunning}
      turn={message.speaker === "human" ? turns.get(message.id ?? "") : undefined}
      content={raw.get(message.id)?.content}
      blocked={blocked}
      below={behind.get(message.key)}
      {...actions}
    />
  )
  return (
    <>
      {first === 0 && behind.get("")}
      {parts.slice(first).map((part) => (
        <div key={part.key} className="chat-part">
          {part.messages.map(placed)}
        </div>
      ))}
    </>
  )
}

const nothing = { shown: [], parts: new Map<string, string>() }

type Doings = Pick<MessageActions, "onShow" | "onSendAgain">

/** Functions that stay the same and do what the newest ones do. */
function useLatest(doings: Doings): Doings {
  const latest = useRef(doings)
  useEffect(() => {
    latest.current = doings
  })
  return useMemo(
    () => ({
      onShow: (checkpointId) => latest.current.onShow(checkpointId),
      onSendAgain: (content, from) => latest.current.onSendAgain(content, from),
    }),
    [],
  )
}

interface PlacedProps extends Doings, Pick<MessageActions, "blocked"> {
  readonly message: ShownMessage
  readonly isGrowing: boolean
  readonly isOver: boolean
  /** Of what a person said, where versions of it may be. */
  readonly turn: Turn | undefined
  /** What the message is made of, for its editor. */
  readonly content: unknown
  readonly below: ReactNode
}

/** Drawn anew only when it has changed: a thread may have thousands. */
const Placed = memo(({ message, isGrowing, isOver, turn, content, below, ...actions }: PlacedProps) => {
  const view = <MessageView message={message} isGrowing={isGrowing} isOver={isOver} />
  return (
    <>
      {turn ? (
        <HumanTurn {...actions} turn={turn} content={content}>
          {view}
        </HumanTurn>
      ) : (
        view
      )}
      {below}
    </>
  )
})

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

interface TurnProps extends Doings, Pick<MessageActions, "blocked"> {
  readonly turn: Turn
  readonly content: unknown
  readonly children: ReactNode
}

function HumanTurn({ turn: { from, versions }, content, children, onShow, onSendAgain, blocked }: TurnProps) {
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
          disabledBecause={blocked}
          onPress={() => setEditing(true)}
        >
          <Pencil size={13} aria-hidden />
        </Button>
      </div>
    </div>
  )
}
