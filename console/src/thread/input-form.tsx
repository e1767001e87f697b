/** The input of a graph that is no chat, as a form from its JSON schema. */
import { Play } from "lucide-react"
import { useMemo, useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { Button, onlyReads } from "../frame/button.js"
import { Problem } from "../frame/problem.js"
import { JsonEditor } from "../json-editor/json-editor.js"
import { fieldOf, type JsonSchema } from "../schema-form/fields.js"
import { SchemaForm } from "../schema-form/schema-form.js"
import { InvalidJson, initialOf, problemsOf } from "../schema-form/value.js"
import { StopButton } from "./composer.js"
import type { InputSchema } from "./input-kind.js"
import type { Conversation } from "./thread-stream.js"

interface Props {
  readonly conversation: Conversation
  readonly schema: InputSchema | undefined
  readonly isRunning: boolean
}

export function InputForm({ conversation, schema, isRunning }: Props) {
  const { mayRun } = useAgent()
  // Without types the graph says nothing about its input.
  const field = useMemo(() => fieldOf(hasFields(schema) ? (schema as JsonSchema) : true), [schema])
  const [value, setValue] = useState<unknown>(() => initialOf(field) ?? {})
  const [wasTried, setTried] = useState(false)
  const [error, setError] = useState<unknown>()
  const run = () => {
    setError(undefined)
    setTried(true)
    if (mayRun && !isRunning && problemsOf(field, value).length === 0)
      conversation.submit(value as never).catch(setError)
  }
  return (
    <form
      className="composer composer-form"
      aria-label="Input"
      onSubmit={(event) => {
        event.preventDefault()
        run()
      }}
    >
      {error !== undefined && <Problem error={error} />}
      {hasFields(schema) ? (
        <SchemaForm schema={schema as JsonSchema} value={value} onChange={setValue} showsProblems={wasTried} />
      ) : (
        <JsonEditor
          label="Input"
          value={{}}
          onChange={(next, problem) => setValue(problem === undefined ? next : new InvalidJson(problem))}
        />
      )}
      {isRunning ? (
        <StopButton conversation={conversation} onError={setError} />
      ) : (
        <Button type="submit" look="primary" disabledBecause={mayRun ? undefined : onlyReads}>
          <Play size={14} aria-hidden /> Run
        </Button>
      )}
    </form>
  )
}

const hasFields = (schema: InputSchema | undefined): boolean => Object.keys(schema?.properties ?? {}).length > 0
