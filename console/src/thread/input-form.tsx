/** The input of a graph that is no chat, as a form from its JSON schema. */
import { Play } from "lucide-react"
import { useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { Button, onlyReads } from "../frame/button.js"
import { Problem } from "../frame/problem.js"
import { JsonEditor } from "../json-editor/json-editor.js"
import { SchemaForm } from "../schema-form/schema-form.js"
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
  const [value, setValue] = useState<unknown>({})
  const [error, setError] = useState<unknown>()
  const run = () => {
    setError(undefined)
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
      {Object.keys(schema?.properties ?? {}).length > 0 ? (
        <SchemaForm schema={schema as never} value={value} onChange={setValue} />
      ) : (
        // Without types the graph says nothing about its input.
        <JsonEditor label="Input" value={{}} onChange={setValue} />
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
