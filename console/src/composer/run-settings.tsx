/** Configuration and context for the runs that this page starts, and the breakpoints that are set. */
import { useState } from "react"
import type { InputSchema } from "../assistants/agent-graph.js"
import { Button } from "../frame/button.js"
import { SlidersHorizontal, X } from "../frame/icons.js"
import { JsonEditor } from "../json-editor/json-editor.js"
import { noText } from "../json-editor/json-text.js"
import { fieldOf, type JsonSchema } from "../schema-form/fields.js"
import { SchemaForm } from "../schema-form/schema-form.js"
import { InvalidJson, initialOf } from "../schema-form/value.js"
import { withBreakpoint } from "./breakpoints.js"
import type { RunOptionsState } from "./run-options.js"

interface Props extends RunOptionsState {
  readonly contextSchema: InputSchema | null | undefined
}

export function RunSettings({ options, change, contextSchema }: Props) {
  const [isOpen, setOpen] = useState(false)
  // Another key begins the editors anew.
  const [epoch, setEpoch] = useState(0)
  const isChanged = options.context !== undefined || options.config !== undefined
  const reset = () => {
    change({ context: undefined, config: undefined })
    setEpoch(epoch + 1)
  }
  return (
    <div className="run-settings">
      <Breakpoints options={options} change={change} />
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <SlidersHorizontal size={13} aria-hidden /> Configuration
          {isChanged && <span className="run-settings-changed">changed</span>}
        </summary>
        {isOpen && (
          <section key={epoch} className="run-settings-form" aria-label="Configuration of runs">
            <p className="soft">
              For the runs that this page starts on this thread, over those of the assistant. This tab remembers it
              until you sign out.
            </p>
            <Context schema={contextSchema} value={options.context} onChange={(context) => change({ context })} />
            <ObjectEditor label="Config" value={options.config} onChange={(config) => change({ config })} />
            {isChanged && <Button onPress={reset}>Use those of the assistant</Button>}
          </section>
        )}
      </details>
    </div>
  )
}

interface ValueProps {
  readonly value: unknown
  /** Undefined for the assistant's own. */
  readonly onChange: (value: unknown) => void
}

function Context({ schema, value, onChange }: ValueProps & { schema: Props["contextSchema"] }) {
  if (Object.keys(schema?.properties ?? {}).length === 0)
    return <ObjectEditor label="Context" value={value} onChange={onChange} />
  const form = schema as JsonSchema
  return (
    <fieldset className="field-group">
      <legend>Context</legend>
      <SchemaForm schema={form} value={value ?? initialOf(fieldOf(form))} onChange={onChange} />
    </fieldset>
  )
}

function ObjectEditor({ label, value, onChange }: ValueProps & { label: string }) {
  const [initial] = useState(value)
  const take = (next: unknown, problem: string | undefined) => {
    if (problem === noText) onChange(undefined)
    else if (problem !== undefined) onChange(new InvalidJson(problem))
    else onChange(isObject(next) ? next : new InvalidJson("Enter an object."))
  }
  return (
    <>
      <JsonEditor label={`${label}, as JSON`} value={initial} onChange={take} />
      {value instanceof InvalidJson && value.problem === "Enter an object." && (
        <p className="field-problem">{value.problem}</p>
      )}
    </>
  )
}

function Breakpoints({ options, change }: RunOptionsState) {
  const all = [
    ...options.breakBefore.map((node) => ({ node, when: "before" as const })),
    ...options.breakAfter.map((node) => ({ node, when: "after" as const })),
  ]
  if (all.length === 0) return null
  return (
    <ul className="run-settings-breakpoints" aria-label="Breakpoints">
      {all.map(({ node, when }) => (
        <li key={`${when} ${node}`}>
          <span className="breakpoint-dot" aria-hidden />
          <span>
            {when} <code>{node}</code>
          </span>
          <Button
            look="quiet"
            label={`Remove the breakpoint ${when} ${node}`}
            onPress={() => change(withBreakpoint(options, { node, when, isSet: false }))}
          >
            <X size={12} aria-hidden />
          </Button>
        </li>
      ))}
    </ul>
  )
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value)
