/** The messages of a thread: those that stream, or those of the checkpoint that is shown. */
import { type ReactNode, useDeferredValue, useMemo } from "react"
import { humanMessage } from "../composer/human-message.js"
import type { Sending } from "../composer/sending.js"
import { Loading } from "../frame/empty.js"
import { JsonText } from "../messages/json-text.js"
import { areMessages, messagesKeyOf, type RawMessage } from "../messages/messages.js"
import type { TreeItem } from "../time-travel/checkpoint-tree.js"
import type { Annotations } from "./annotations.js"
import { type Checkpoints, messagesIn, withoutOthers } from "./branches.js"
import { MessageList } from "./message-list.js"
import type { Conversation as Hook } from "./thread-stream.js"

export interface ConversationProps {
  readonly conversation: Hook
  /** The messages of the conversation without the unfinished ones of lost attempts. */
  readonly messages: readonly RawMessage[]
  /** undefined: the graph is no chat, its input is a form */
  readonly chatKey: string | undefined
  /** Whether it is not known yet what the graph takes. */
  readonly isSchemaPending: boolean
  readonly isRunning: boolean
  readonly isHistoryPending: boolean
  readonly items: Checkpoints
  readonly present: TreeItem | undefined
  readonly past: TreeItem | undefined
  readonly annotations: Annotations
  readonly sending: Sending
  /** Why no message can be sent from an earlier checkpoint. */
  readonly blocked: string | undefined
  /** Shows a checkpoint; undefined for the present state. */
  readonly onShow: (checkpointId: string | undefined) => void
}

export function Conversation(props: ConversationProps) {
  const { conversation, messages: latest, chatKey, isRunning, items, present, past, annotations, sending } = props
  // Typing and scrolling go before the drawing of new tokens.
  const streamed = useDeferredValue(latest)
  const state = past ? past.item.values : streamed.length === 0 ? stateOf(props) : undefined
  const key = chatKey ?? messagesKeyOf(state)
  const messages = useMemo(() => {
    if (past) return messagesOf(state, key)
    const sent = isRunning ? sending.sent : undefined
    // Until the run has written a checkpoint, its branch ends where it starts.
    const isNew = sent?.from !== undefined && sent.head === present?.id
    const tip = isNew ? items.get(sent.from ?? "") : present
    const base = state === undefined || isNew ? streamed : messagesOf(state, key)
    const onLine = key === undefined ? base : withoutOthers(base, items, tip, key)
    const shown = isNew && onLine.length === 0 && tip && key !== undefined ? messagesIn(tip, key) : onLine
    const known = new Set(shown.map(({ id }) => id))
    return [...shown, ...(sent?.messages ?? []).filter(({ id }) => !known.has(id))]
  }, [state, streamed, key, past, present, items, isRunning, sending.sent])
  const isWaiting =
    props.isSchemaPending || props.isHistoryPending || (chatKey !== undefined && conversation.isThreadLoading)
  if (!past && messages.length === 0 && isWaiting) return <Loading what="Loading the conversation" />
  const others = chatKey === undefined && state !== undefined ? otherValues(state, key) : []
  const isEmpty = messages.length === 0 && others.length === 0 && annotations.between.size === 0
  const onSendAgain = (content: unknown, from: string) => {
    const message = humanMessage(content)
    return sending.start({ [key ?? "messages"]: [message] }, { messages: [message], from })
  }
  return (
    <>
      {isEmpty && <p className="chat-empty soft">{emptyText(props, present)}</p>}
      <MessageList
        messages={messages}
        isRunning={isRunning && !past}
        between={annotations.between}
        turns={chatKey === undefined ? noTurns : annotations.turns}
        onShow={(id) => props.onShow(id === present?.id ? undefined : id)}
        onSendAgain={onSendAgain}
        blocked={props.blocked}
      />
      {others.map(([name, value]) => (
        <Value key={name} name={name}>
          <JsonText value={value} label={name} />
        </Value>
      ))}
    </>
  )
}

const noTurns: Annotations["turns"] = new Map()

function emptyText({ past, chatKey, isRunning }: ConversationProps, present: TreeItem | undefined): string {
  if (past || (chatKey === undefined && present)) return "The state is empty."
  return isRunning ? "The run has started. It has no message yet." : "Nothing has been said yet."
}

/** What the page knows of the state before the stream has a message. */
function stateOf({ conversation, chatKey, present }: ConversationProps): unknown {
  const saved = present?.item.values
  if (chatKey !== undefined || messagesOf(saved, messagesKeyOf(saved)).length > 0) return saved ?? {}
  return conversation.values ?? saved ?? {}
}

const messagesOf = (state: unknown, key: string | undefined): readonly RawMessage[] => {
  const found = key === undefined ? undefined : valuesOf(state)[key]
  return areMessages(found) ? found : []
}

const otherValues = (state: unknown, key: string | undefined): [string, unknown][] =>
  Object.entries(valuesOf(state)).filter(([name]) => name !== key)

const valuesOf = (state: unknown): Readonly<Record<string, unknown>> =>
  typeof state === "object" && state !== null ? (state as Readonly<Record<string, unknown>>) : {}

const Value = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="chat-value">
    <h3 className="mono">{name}</h3>
    {children}
  </div>
)
