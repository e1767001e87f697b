/** Decides about tool calls: approve, edit, answer, reject. With several, each gets its decision and all are sent together. */

import { useState } from "react"
import { Form } from "../forms/form.js"
import { Button } from "../frame/button.js"
import { Check, MessageSquareReply, Pencil, X } from "../frame/icons.js"
import { JsonEditor } from "../json-editor/json-editor.js"
import { JsonView } from "../json-editor/json-view.js"
import { Markdown } from "../messages/markdown.js"
import { type AnswerFormProps, Send } from "./answer-parts.js"
import { type Action, answerOf, type Decision, type Question } from "./interrupt.js"

type ActionsQuestion = Extract<Question, { kind: "actions" }>

export function ActionsForm({ question, onAnswer, ...props }: AnswerFormProps & { question: ActionsQuestion }) {
  const [made, setMade] = useState<readonly (Decision | undefined)[]>(() => question.actions.map(() => undefined))
  const isSingle = question.actions.length === 1
  const decide = (n: number, decision: Decision | undefined) => {
    const next = made.map((one, at) => (at === n ? decision : one))
    setMade(next)
    if (isSingle && decision) onAnswer(answerOf(question, [decision]))
  }
  const missing = made.filter((decision) => decision === undefined).length
  const because = props.disabledBecause ?? (missing === 0 ? undefined : `Decide about ${missing} more.`)
  const send = () =>
    onAnswer(
      answerOf(
        question,
        made.filter((decision) => decision !== undefined),
      ),
    )
  return (
    <div className="answer">
      {question.actions.map((action, n) => (
        <ActionForm
          // biome-ignore lint/suspicious/noArrayIndexKey: the calls of one question never change places
          key={n}
          {...props}
          action={action}
          isNamed={!isSingle}
          decision={isSingle ? undefined : made[n]}
          onDecide={(decision) => decide(n, decision)}
        />
      ))}
      {!isSingle && (
        <Send {...props} disabledBecause={because} onPress={send}>
          Send {made.length} decisions
        </Send>
      )}
    </div>
  )
}

interface ActionFormProps extends Pick<AnswerFormProps, "disabledBecause" | "isPending"> {
  readonly action: Action
  /** Whether its name is shown. */
  readonly isNamed: boolean
  /** What was decided, for one of several. */
  readonly decision: Decision | undefined
  readonly onDecide: (decision: Decision | undefined) => void
}

type Editing = "edit" | "respond" | "reject"

function ActionForm({ action, isNamed, decision, onDecide, disabledBecause, isPending = false }: ActionFormProps) {
  const [editing, setEditing] = useState<Editing | undefined>()
  const shared = { disabledBecause, isPending }
  const can = (type: Decision["type"]) => action.allowed.includes(type)
  const finish = (next: Decision) => {
    setEditing(undefined)
    onDecide(next)
  }
  return (
    <section className="action" aria-label={action.name}>
      {isNamed && (
        <header className="action-head">
          <code className="action-name">{action.name}</code>
          {decision && <span className={`action-decision action-${decision.type}`}>{decidedText[decision.type]}</span>}
        </header>
      )}
      {action.description !== undefined && <Markdown text={action.description} />}
      {editing !== "edit" && (
        <JsonView
          value={decision?.type === "edit" ? decision.args : action.args}
          label={`Arguments of ${action.name}`}
        />
      )}
      {editing === "edit" && (
        <EditForm
          {...shared}
          args={action.args}
          onSave={(args) => finish({ type: "edit", args })}
          onCancel={() => setEditing(undefined)}
        />
      )}
      {(editing === "respond" || editing === "reject") && (
        <TextForm
          {...shared}
          type={editing}
          onSave={(text) => finish({ type: editing, text })}
          onCancel={() => setEditing(undefined)}
        />
      )}
      {editing === undefined && (
        <div className="answer-buttons">
          {can("approve") && (
            <Button look="primary" {...shared} onPress={() => finish({ type: "approve" })}>
              <Check size={14} aria-hidden /> Approve
            </Button>
          )}
          {can("edit") && (
            <Button {...shared} onPress={() => setEditing("edit")}>
              <Pencil size={14} aria-hidden /> Edit
            </Button>
          )}
          {can("respond") && (
            <Button {...shared} onPress={() => setEditing("respond")}>
              <MessageSquareReply size={14} aria-hidden /> Answer
            </Button>
          )}
          {can("reject") && (
            <Button look="danger" {...shared} onPress={() => setEditing("reject")}>
              <X size={14} aria-hidden /> Reject
            </Button>
          )}
          {action.allowed.length === 0 && <p className="soft">The graph allows no decision here.</p>}
        </div>
      )}
    </section>
  )
}

const decidedText = { approve: "approved", edit: "edited", respond: "answered", reject: "rejected" } as const

interface EditingProps<Value> extends Pick<AnswerFormProps, "disabledBecause" | "isPending"> {
  readonly onSave: (value: Value) => void
  readonly onCancel: () => void
}

function EditForm({ args, onSave, onCancel, ...props }: EditingProps<unknown> & { args: unknown }) {
  const [value, setValue] = useState(args)
  const because = props.disabledBecause ?? (value === undefined ? "Correct the JSON first." : undefined)
  return (
    <Form className="answer-form" onSend={() => because === undefined && onSave(value)}>
      <JsonEditor label="Arguments" value={args} onChange={setValue} />
      <div className="answer-buttons">
        <Send {...props} disabledBecause={because}>
          Approve with these
        </Send>
        <Button onPress={onCancel}>Cancel</Button>
      </div>
    </Form>
  )
}

function TextForm({ type, onSave, onCancel, ...props }: EditingProps<string> & { type: "respond" | "reject" }) {
  const [text, setText] = useState("")
  const isReject = type === "reject"
  const because = props.disabledBecause ?? (text.trim() === "" && !isReject ? "Enter an answer first." : undefined)
  return (
    <Form className="answer-form" onSend={() => because === undefined && onSave(text)}>
      <label className="field">
        <span className="label">{isReject ? "Reason, for the model" : "Answer, for the model"}</span>
        {/* biome-ignore lint/a11y/noAutofocus: a person has just asked for this field */}
        <textarea rows={3} value={text} onChange={({ target }) => setText(target.value)} autoFocus />
      </label>
      <div className="answer-buttons">
        <Send {...props} disabledBecause={because}>
          {isReject ? "Reject" : "Send the answer"}
        </Send>
        <Button onPress={onCancel}>Cancel</Button>
      </div>
    </Form>
  )
}
