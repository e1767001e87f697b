/** Creates an assistant, or a new version of one. */
import type { Assistant, AssistantVersion } from "@langchain/langgraph-sdk"
import { type ReactNode, useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { DialogForm } from "../forms/dialog-form.js"
import { Field, SelectField } from "../forms/field.js"
import { onlyReads } from "../frame/button.js"
import { AddDialog, Dialog, useClose } from "../frame/dialog.js"
import { Pencil } from "../frame/icons.js"
import { JsonEditor } from "../json-editor/json-editor.js"
import { SchemaForm } from "../schema-form/schema-form.js"
import { hasInvalid } from "../schema-form/value.js"
import { type AssistantFields, useAssistantActions, useAssistants, useContextSchema } from "./use-assistants.js"

export function NewAssistant({ onCreated }: { onCreated: (assistantId: string) => void }) {
  const { mayRun } = useAgent()
  return (
    <AddDialog
      title="New assistant"
      add="New assistant"
      look="primary"
      disabledBecause={mayRun ? undefined : onlyReads}
    >
      <NewForm onCreated={onCreated} />
    </AddDialog>
  )
}

function NewForm({ onCreated }: { onCreated: (assistantId: string) => void }) {
  const assistants = useAssistants()
  const graphs = [...new Set(assistants.map(({ graph_id }) => graph_id))]
  const [graphId, setGraphId] = useState(graphs[0] ?? "")
  const { create } = useAssistantActions()
  return (
    <FieldsForm
      graphId={graphId}
      initial={{ name: "", description: "", context: {}, config: {}, metadata: {} }}
      schemaOf={assistants.find(({ graph_id }) => graph_id === graphId)?.assistant_id}
      submit="Create"
      act={(fields) => create.mutateAsync({ graphId, fields })}
      onDone={({ assistant_id }) => onCreated(assistant_id)}
    >
      <SelectField label="Graph" value={graphId} onChange={setGraphId}>
        {graphs.map((graph) => (
          <option key={graph}>{graph}</option>
        ))}
      </SelectField>
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
      <FieldsForm
        graphId={assistant.graph_id}
        initial={initial}
        schemaOf={assistant.assistant_id}
        submit="Save as a new version"
        act={(fields) => update.mutateAsync({ assistantId: assistant.assistant_id, fields })}
        onDone={onSaved}
      />
    </Dialog>
  )
}

interface FieldsFormProps {
  readonly graphId: string
  readonly initial: AssistantFields
  /** The assistant whose graph says what its context looks like. */
  readonly schemaOf: string | undefined
  readonly submit: string
  readonly act: (fields: AssistantFields) => Promise<Assistant>
  readonly onDone: (saved: Assistant) => void
  readonly children?: ReactNode
}

function FieldsForm({ graphId, initial, schemaOf, submit, act, onDone, children }: FieldsFormProps) {
  const [{ contextOf, ...given }, setGiven] = useState({ ...initial, contextOf: graphId })
  // Another graph has another context.
  const fields = contextOf === graphId ? given : { ...given, context: initial.context }
  const schema = useContextSchema(schemaOf)
  const close = useClose()
  const set = (change: Partial<AssistantFields> & { contextOf?: string }) =>
    setGiven((present) => ({ ...present, ...change }))
  const setContext = (context: unknown) => set({ context, contextOf: graphId })
  const isBroken = [fields.context, fields.config, fields.metadata].some(
    (value) => value === undefined || hasInvalid(value),
  )
  const closeAndShow = (saved: Assistant) => {
    close()
    onDone(saved)
  }
  return (
    <DialogForm
      submit={submit}
      disabledBecause={isBroken ? "Correct the JSON first." : undefined}
      act={() => act(fields)}
      onDone={closeAndShow}
    >
      {children}
      <Field label="Name" value={fields.name} onChange={(name) => set({ name })} isRequired />
      <Field label="Description" value={fields.description} onChange={(description) => set({ description })} />
      {schema ? (
        <fieldset className="field-group">
          <legend>Context</legend>
          <SchemaForm key={graphId} schema={schema} value={fields.context} onChange={setContext} />
        </fieldset>
      ) : (
        <JsonEditor key={graphId} label="Context" value={initial.context} onChange={setContext} />
      )}
      <JsonEditor label="Config" value={initial.config} onChange={(config) => set({ config })} />
      <JsonEditor label="Metadata" value={initial.metadata} onChange={(metadata) => set({ metadata })} />
    </DialogForm>
  )
}
