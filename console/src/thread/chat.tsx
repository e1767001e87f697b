/** The conversation of a thread, as it is or as it was at a checkpoint, with the place to answer. */
import { useAgent } from "../agent/use-agent.js"
import type { InputSchema } from "../assistants/agent-graph.js"
import { Composer, InputPending, NotSent } from "../composer/composer.js"
import { InputForm } from "../composer/input-form.js"
import { problemOf, type RunOptionsState } from "../composer/run-options.js"
import { RunSettings } from "../composer/run-settings.js"
import { answerFirst } from "../composer/sending.js"
import { approvalRefusal, Button } from "../frame/button.js"
import { History as HistoryIcon } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { messagesKeyOf } from "../messages/messages.js"
import type { TreeItem } from "../time-travel/checkpoint-tree.js"
import type { Activity } from "./activity.js"
import { Conversation, type ConversationProps } from "./conversation.js"
import { Questions } from "./questions.js"
import type { Failure } from "./run-facts.js"
import { StickToEnd } from "./stick-to-end.js"
import { Stopped } from "./stopped.js"
import { WhoActed } from "./who-acted.js"

interface Props extends Omit<ConversationProps, "blocked"> {
  readonly threadId: string
  readonly inputSchema: InputSchema | undefined
  readonly contextSchema: InputSchema | null | undefined
  readonly activity: Activity
  /** Whether a run is under way. `isRunning` is also true while this page sends something. */
  readonly isBusy: boolean
  /** Why the last run failed. */
  readonly failure: Failure | undefined
  /** Whether a question is open. */
  readonly asks: boolean
  /** The nodes that a breakpoint keeps from running. */
  readonly stoppedAt: readonly string[]
  readonly runOptions: RunOptionsState
}

const notWhileRunning = "A run is in flight on this thread: stop it, or wait until it has ended."

export function Chat(props: Props) {
  const { chatKey, inputSchema, isSchemaPending, activity, isRunning, failure, asks, sending, present, past } = props
  const { runOptions, stoppedAt, isBusy } = props
  const problem = problemOf(runOptions.options)
  const refusal = approvalRefusal(useAgent())
  /** Why a run cannot go on here, nor begin at a checkpoint. */
  const notGoingOn = refusal ?? problem
  // From a checkpoint of the past a new branch begins, and the question stays with its own.
  const blocked = past ? notGoingOn : asks ? answerFirst : problem
  // A server that has just started computes the schemas for some seconds. A thread with messages gets one more meanwhile.
  const inputKey = isSchemaPending ? messagesKeyOf(present?.item.values) : chatKey
  const input = { sending, isRunning, blocked, from: past?.id }
  // An answer that is being sent stays in its form, since it may be refused. A message leaves the question behind.
  const isOpen = !past && !isBusy && !(sending.isSending && sending.sent)
  return (
    <section className="chat" aria-label="Conversation">
      {past && <Past past={past} onBackToNow={() => props.onShow(undefined)} />}
      <StickToEnd>
        <Conversation {...props} blocked={refusal ?? (isRunning ? notWhileRunning : problem)} />
        {!past && activity.attempt > 1 && (
          <p className="chat-attempt" role="status">
            The worker of the first attempt was lost. Attempt {activity.attempt} went on from the last checkpoint.
          </p>
        )}
        {!past && !isRunning && failure !== undefined && (
          <Problem
            error={failure.text}
            explained={failure.explained}
            next="Change the code or the state, then go on from a checkpoint."
          />
        )}
        {!past && <WhoActed threadId={props.threadId} version={present?.id} />}
        {!past && sending.refused !== undefined && <NotSent error={sending.refused} />}
        {present && <Questions sending={sending} present={present} isHidden={!isOpen} refusal={refusal} />}
        {isOpen && stoppedAt.length > 0 && <Stopped nodes={stoppedAt} sending={sending} blocked={notGoingOn} />}
      </StickToEnd>
      <RunSettings {...runOptions} contextSchema={props.contextSchema} />
      {inputKey !== undefined ? (
        <Composer {...input} chatKey={inputKey} />
      ) : isSchemaPending ? (
        <InputPending sending={sending} isRunning={isRunning} />
      ) : (
        <InputForm {...input} schema={inputSchema} />
      )}
    </section>
  )
}

function Past({ past: { item, isTip }, onBackToNow }: { past: TreeItem; onBackToNow: () => void }) {
  const step = String(item.metadata?.step ?? "?")
  return (
    <div className="chat-past" role="status">
      <HistoryIcon size={14} aria-hidden />
      <span>{isTip ? `Another branch, as it ended at step ${step}` : `The thread as it was at step ${step}`}</span>
      <Button look="quiet" onPress={onBackToNow}>
        Back to now
      </Button>
    </div>
  )
}
