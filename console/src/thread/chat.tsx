/** The conversation of a thread, as it is or as it was at a checkpoint, with the place to answer. */

import { useDeferredValue, useMemo } from "react"
import type { InputSchema } from "../assistants/agent-graph.js"
import { Button } from "../frame/button.js"
import { Loading } from "../frame/empty.js"
import { History as HistoryIcon } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { JsonText } from "../messages/json-text.js"
import { MessageView } from "../messages/message-view.js"
import { areMessages, messagesKeyOf, type RawMessage, shownMessages } from "../messages/messages.js"
import type { TreeItem } from "../time-travel/checkpoint-tree.js"
import type { Activity } from "./activity.js"
import { Composer, InputPending } from "./composer.js"
import { InputForm } from "./input-form.js"
import { Questions } from "./questions.js"
import type { Failure } from "./run-facts.js"
import { answerFirst, type Sending } from "./sending.js"
import { StickToEnd } from "./stick-to-end.js"
import type { Conversation } from "./thread-stream.js"

interface Props {
  readonly conversation: Conversation
  /** The messages of the conversation without the unfinished ones of lost attempts. */
  readonly messages: readonly RawMessage[]
  /** undefined: the graph is no chat, its input is a form */
  readonly chatKey: string | undefined
  readonly inputSchema: InputSchema | undefined
  /** Whether it is not known yet what the graph takes. */
  readonly isSchemaPending: boolean
  readonly activity: Activity
  readonly isRunning: boolean
  /** Why the last run failed. */
  readonly failure: Failure | undefined
  /** Whether a question is open. */
  readonly asks: boolean
  readonly sending: Sending
  readonly isHistoryPending: boolean
  readonly present: TreeItem | undefined
  readonly past: TreeItem | undefined
  readonly onBackToNow: () => void
}

export function Chat(props: Props) {
  const { chatKey, inputSchema, isSchemaPending, activity, isRunning, failure, asks, sending, present, past } = props
  const blocked = asks ? answerFirst : undefined
  // A server that has just started computes the schemas for some seconds. A thread with messages gets one more meanwhile.
  const inputKey = isSchemaPending ? messagesKeyOf(present?.item.values) : chatKey
  return (
    <section className="chat" aria-label="Conversation">
      {past && (
        <div className="chat-past" role="status">
          <HistoryIcon size={14} aria-hidden />
          <span>The thread as it was at step {String(past.item.metadata?.step ?? "?")}</span>
          <Button look="quiet" onPress={props.onBackToNow}>
            Back to now
          </Button>
        </div>
      )}
      <StickToEnd>
        {past ? <StateMessages state={past.item.values} chatKey={chatKey} /> : <LiveMessages {...props} />}
        {!past && activity.attempt > 1 && (
          <p className="chat-attempt" role="status">
            The worker of the first attempt was lost. Attempt {activity.attempt} went on from the last checkpoint.
          </p>
        )}
        {!past && failure !== undefined && (
          <Problem
            error={failure.text}
            explained={failure.explained}
            next="Change the code or the state, then go on from a checkpoint."
          />
        )}
        {!past && !isRunning && present && <Questions answer={sending.answer} present={present} />}
      </StickToEnd>
      {/* Hidden and not removed, so that drafts stay while a checkpoint is shown. */}
      <div className="chat-input" hidden={past !== undefined}>
        {inputKey !== undefined ? (
          <Composer sending={sending} chatKey={inputKey} isRunning={isRunning} blocked={blocked} />
        ) : isSchemaPending ? (
          <InputPending sending={sending} isRunning={isRunning} />
        ) : (
          <InputForm sending={sending} schema={inputSchema} isRunning={isRunning} blocked={blocked} />
        )}
      </div>
    </section>
  )
}

function LiveMessages(props: Props) {
  const { conversation, messages: latest, chatKey, isSchemaPending, isRunning, isHistoryPending, present } = props
  // Typing and scrolling go before the drawing of new tokens.
  const messages = useDeferredValue(latest)
  const shown = useMemo(() => shownMessages(messages), [messages])
  if (shown.length === 0 && (isSchemaPending || isHistoryPending)) return <Loading what="Loading the conversation" />
  if (shown.length === 0 && present && hasMessages(present.item.values, chatKey))
    return <StateMessages state={present.item.values} chatKey={chatKey} />
  if (shown.length === 0 && chatKey === undefined)
    return <StateMessages state={conversation.values ?? present?.item.values} chatKey={chatKey} />
  if (shown.length === 0 && conversation.isThreadLoading) return <Loading what="Loading the conversation" />
  if (shown.length === 0)
    return (
      <p className="chat-empty soft">
        {isRunning ? "The run has started. It has no message yet." : "Nothing has been said yet."}
      </p>
    )
  return (
    <>
      {shown.map((message, position) => (
        <MessageView
          key={message.key}
          message={message}
          isGrowing={isRunning && position === shown.length - 1 && message.speaker === "ai"}
        />
      ))}
    </>
  )
}

const hasMessages = (values: unknown, chatKey: string | undefined): boolean => {
  const found = (values as Readonly<Record<string, unknown>> | null)?.[chatKey ?? ""]
  return areMessages(found) && found.length > 0
}

/** A state's messages as a conversation; everything else of it as JSON. */
function StateMessages({ state, chatKey }: { state: unknown; chatKey: string | undefined }) {
  const values = (typeof state === "object" && state !== null ? state : {}) as Readonly<Record<string, unknown>>
  const key = chatKey ?? messagesKeyOf(values)
  const messages = useMemo(() => {
    const found = key === undefined ? undefined : values[key]
    return areMessages(found) ? shownMessages(found) : []
  }, [values, key])
  const others = Object.entries(values).filter(([name]) => name !== key)
  return (
    <>
      {messages.map((message) => (
        <MessageView key={message.key} message={message} />
      ))}
      {chatKey === undefined &&
        others.map(([name, value]) => (
          <div key={name} className="chat-value">
            <h3 className="mono">{name}</h3>
            <JsonText value={value} label={name} />
          </div>
        ))}
      {messages.length === 0 && others.length === 0 && <p className="chat-empty soft">The state is empty.</p>}
    </>
  )
}
