/** Asks a person what an interrupt asks, in the form that fits it. */
import { useMemo, useState } from "react"
import { Radio, RadioGroup } from "react-aria-components/RadioGroup"
import { Form } from "../forms/form.js"
import { Button } from "../frame/button.js"
import { JsonEditor } from "../json-editor/json-editor.js"
import { JsonView } from "../json-editor/json-view.js"
import { fieldOf, type JsonSchema } from "../schema-form/fields.js"
import { SchemaForm } from "../schema-form/schema-form.js"
import { initialOf, problemsOf } from "../schema-form/value.js"
import { ActionsForm } from "./actions-form.js"
import { type AnswerFormProps, Send } from "./answer-parts.js"
import { questionOf } from "./interrupt.js"

export type { AnswerFormProps } from "./answer-parts.js"

export function AnswerForm(props: AnswerFormProps) {
  const question = useMemo(() => questionOf(props.interrupt), [props.interrupt])
  if (question.kind === "actions") return <ActionsForm {...props} question={question} />
  return (
    <div className="answer">
      {question.text !== undefined && !props.hidesQuestion && <p className="answer-question">{question.text}</p>}
      {question.details !== undefined && <JsonView value={question.details} label="Details of the question" />}
      {question.kind === "schema" && <SchemaAnswer {...props} schema={question.schema} />}
      {question.kind === "choice" && <ChoiceAnswer {...props} options={question.options} />}
      {question.kind === "open" && <OpenAnswer {...props} />}
    </div>
  )
}

function SchemaAnswer({ schema, ...props }: AnswerFormProps & { schema: JsonSchema }) {
  const [value, setValue] = useState(() => initialOf(fieldOf(schema)))
  const [wasTried, setTried] = useState(false)
  const send = () => {
    setTried(true)
    if (problemsOf(fieldOf(schema), value).length === 0) props.onAnswer(value)
  }
  return (
    <Form className="answer-form" onSend={send}>
      <SchemaForm schema={schema} value={value} onChange={setValue} showsProblems={wasTried} />
      <Send {...props}>Answer</Send>
    </Form>
  )
}

function ChoiceAnswer({
  options,
  onAnswer,
  disabledBecause,
  isPending = false,
}: AnswerFormProps & { options: readonly unknown[] }) {
  return (
    <div className="answer-buttons">
      {options.map((option) => {
        const label = typeof option === "string" ? option : JSON.stringify(option)
        return (
          <Button key={label} onPress={() => onAnswer(option)} disabledBecause={disabledBecause} isPending={isPending}>
            {label}
          </Button>
        )
      })}
    </div>
  )
}

const ways = ["Yes or no", "Text", "JSON"] as const

/** The graph does not say what it expects: yes and no, a text, or any JSON. */
function OpenAnswer(props: AnswerFormProps) {
  const [way, setWay] = useState<(typeof ways)[number]>("Text")
  return (
    <>
      <RadioGroup
        className="choices"
        aria-label="Kind of answer"
        value={way}
        onChange={(next) => setWay(next as typeof way)}
        orientation="horizontal"
      >
        {ways.map((one) => (
          <Radio key={one} value={one} className="choices-one">
            {one}
          </Radio>
        ))}
      </RadioGroup>
      {way === "Yes or no" && (
        <div className="answer-buttons">
          <Send {...props} onPress={() => props.onAnswer(true)}>
            Yes
          </Send>
          <Button
            onPress={() => props.onAnswer(false)}
            disabledBecause={props.disabledBecause}
            isPending={props.isPending ?? false}
          >
            No
          </Button>
        </div>
      )}
      {way === "Text" && <TextAnswer {...props} />}
      {way === "JSON" && <JsonAnswer {...props} />}
    </>
  )
}

function TextAnswer(props: AnswerFormProps) {
  const [text, setText] = useState("")
  return (
    <Form className="answer-form" onSend={() => props.onAnswer(text)}>
      <label className="field">
        <span className="label">Your answer</span>
        <textarea rows={3} value={text} onChange={({ target }) => setText(target.value)} />
      </label>
      <Send {...props}>Answer</Send>
    </Form>
  )
}

function JsonAnswer(props: AnswerFormProps) {
  const [value, setValue] = useState<unknown>()
  const because = props.disabledBecause ?? (value === undefined ? "Enter JSON first." : undefined)
  return (
    <Form className="answer-form" onSend={() => because === undefined && props.onAnswer(value)}>
      <JsonEditor label="Your answer as JSON" value={undefined} onChange={setValue} />
      <Send {...props} disabledBecause={because}>
        Answer
      </Send>
    </Form>
  )
}
