/** The input of a graph that is no chat, as a form from its JSON schema. */

import { useMemo, useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import type { InputSchema } from "../assistants/agent-graph.js"
import { Form } from "../forms/form.js"
import { Button, onlyReads } from "../frame/button.js"
import { Play } from "../frame/icons.js"
import { JsonEditor } from "../json-editor/json-editor.js"
import { fieldOf, type JsonSchema } from "../schema-form/fields.js"
import { SchemaForm } from "../schema-form/schema-form.js"
import { InvalidJson, initialOf, problemsOf } from "../schema-form/value.js"
import { NotSent, StopButton } from "./composer.js"
import type { Sending } from "./sending.js"

interface Props {
  readonly sending: Sending
  readonly schema: InputSchema | undefined
  readonly isRunning: boolean
  /** Why no run can be started now. */
  readonly blocked: string | undefined
  /** The checkpoint that a run starts at; undefined for the present state. */
  readonly from: string | undefined
}

export function InputForm({ sending, schema, isRunning, blocked, from }: Props) {
  const { mayRun } = useAgent()
  // Without types the graph says nothing about its input.
  const field = useMemo(() => fieldOf(hasFields(schema) ? (schema as JsonSchema) : true), [schema])
  const [value, setValue] = useState<unknown>(() => initialOf(field) ?? {})
  const [wasTried, setTried] = useState(false)
  const [error, setError] = useState<unknown>()
  const because = mayRun ? blocked : onlyReads
  const run = () => {
    setError(undefined)
    setTried(true)
    if (because === undefined && !isRunning && problemsOf(field, value).length === 0)
      sending.start(value, { messages: [], from }).catch(setError)
  }
  return (
    <Form className="composer composer-form" aria-label="Input" onSend={run}>
      {error !== undefined && <NotSent error={error} />}
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
        <StopButton sending={sending} onError={setError} />
      ) : (
        <Button type="submit" look="primary" disabledBecause={because}>
          <Play size={14} aria-hidden /> Run
        </Button>
      )}
    </Form>
  )
}

const hasFields = (schema: InputSchema | undefined): boolean => Object.keys(schema?.properties ?? {}).length > 0
