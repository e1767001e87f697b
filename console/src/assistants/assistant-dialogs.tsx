/** Creates an assistant, or a new version of one. */
import type { Assistant, AssistantVersion } from "@langchain/langgraph-sdk"
import { useId, useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { Button, onlyReads } from "../frame/button.js"
import { Dialog } from "../frame/dialog.js"
import { Field } from "../frame/field.js"
import { Pencil, Plus } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { JsonEditor } from "../json-editor/json-editor.js"
import { SchemaForm } from "../schema-form/schema-form.js"
import { type AssistantFields, useAssistantActions, useAssistants, useContextSchema } from "./use-assistants.js"

export function NewAssistant({ onCreated }: { onCreated: (assistantId: string) => void }) {
  const { mayRun } = useAgent()
  const children = (
    <>
      <Plus size={14} aria-hidden /> New assistant
    </>
  )
  return (
    <Dialog
      title="New assistant"
      button={{ look: "primary", disabledBecause: mayRun ? undefined : onlyReads, children }}
    >
      {(close) => <NewForm close={close} onCreated={onCreated} />}
    </Dialog>
  )
}

function NewForm({ close, onCreated }: { close: () => void; onCreated: (assistantId: string) => void }) {
  const id = useId()
  const assistants = useAssistants()
  const graphs = [...new Set(assistants.map(({ graph_id }) => graph_id))]
  const [graphId, setGraphId] = useState(graphs[0] ?? "")
  const { create } = useAssistantActions()
  const onSend = (fields: AssistantFields) =>
    create.mutate(
      { graphId, fields },
      {
        onSuccess: ({ assistant_id }) => {
          close()
          onCreated(assistant_id)
        },
      },
    )
  return (
    <FieldsForm
      key={graphId}
      initial={{ name: "", description: "", context: {}, config: {}, metadata: {} }}
      schemaOf={assistants.find(({ graph_id }) => graph_id === graphId)?.assistant_id}
      send="Create"
      isPending={create.isPending}
      error={create.error}
      onSend={onSend}
      onCancel={close}
    >
      <div>
        <label htmlFor={id}>Graph</label>
        <select id={id} value={graphId} onChange={({ target }) => setGraphId(target.value)}>
          {graphs.map((graph) => (
            <option key={graph}>{graph}</option>
          ))}
        </select>
      </div>
    </FieldsForm>
  )
}

interface EditAssistantProps {
  readonly assistant: Assistant
  /** The version that the new one starts from. */
  readonly version: AssistantVersion
  readonly onSaved: () => void
}

export function EditAssistant({ assistant, version, onSaved }: EditAssistantProps) {
  const { mayRun } = useAgent()
  const { update } = useAssistantActions()
  const children = (
    <>
      <Pencil size={14} aria-hidden /> Edit
    </>
  )
  const initial = {
    name: version.name,
    description: version.description ?? "",
    context: version.context ?? {},
    config: version.config,
    metadata: version.metadata ?? {},
  }
  return (
    <Dialog
      title={`New version of ${assistant.name}`}
      button={{ disabledBecause: mayRun ? undefined : onlyReads, children }}
    >
      {(close) => (
        <FieldsForm
          initial={initial}
          schemaOf={assistant.assistant_id}
          send="Save as a new version"
          isPending={update.isPending}
          error={update.error}
          onCancel={close}
          onSend={(fields) =>
            update.mutate(
              { assistantId: assistant.assistant_id, fields },
              {
                onSuccess: () => {
                  close()
                  onSaved()
                },
              },
            )
          }
        />
      )}
    </Dialog>
  )
}

interface FieldsFormProps {
  readonly initial: AssistantFields
  /** The assistant whose graph says what its context looks like. */
  readonly schemaOf: string | undefined
  readonly send: string
  readonly isPending: boolean
  readonly error: Error | null
  readonly onSend: (fields: AssistantFields) => void
  readonly onCancel: () => void
  readonly children?: React.ReactNode
}

function FieldsForm({ initial, schemaOf, send, isPending, error, onSend, onCancel, children }: FieldsFormProps) {
  const [fields, setFields] = useState(initial)
  const schema = useContextSchema(schemaOf)
  const set = (change: Partial<AssistantFields>) => setFields((present) => ({ ...present, ...change }))
  const isBroken = [fields.context, fields.config, fields.metadata].includes(undefined)
  const because = isBroken ? "Correct the JSON first." : undefined
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (!isBroken) onSend(fields)
      }}
    >
      {children}
      <Field label="Name" value={fields.name} onChange={(name) => set({ name })} isRequired />
      <Field label="Description" value={fields.description} onChange={(description) => set({ description })} />
      {schema ? (
        <fieldset className="field-group">
          <legend>Context</legend>
          <SchemaForm schema={schema} value={fields.context} onChange={(context) => set({ context })} />
        </fieldset>
      ) : (
        <JsonEditor label="Context" value={initial.context} onChange={(context) => set({ context })} />
      )}
      <JsonEditor label="Config" value={initial.config} onChange={(config) => set({ config })} />
      <JsonEditor label="Metadata" value={initial.metadata} onChange={(metadata) => set({ metadata })} />
      {error && <Problem error={error} />}
      <div className="dialog-actions">
        <Button onPress={onCancel}>Cancel</Button>
        <Button look="primary" type="submit" isPending={isPending} disabledBecause={because}>
          {send}
        </Button>
      </div>
    </form>
  )
}
