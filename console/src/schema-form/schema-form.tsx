/** A form from a JSON schema. It edits a JSON value; what it cannot express it edits as JSON. */

import { type ReactNode, useId, useMemo, useState } from "react"
import { Button } from "../frame/button.js"
import { Plus, X } from "../frame/icons.js"
import { JsonEditor } from "../json-editor/json-editor.js"
import { noText } from "../json-editor/json-text.js"
import { type Field, fieldOf, type JsonSchema, type ObjectField } from "./fields.js"
import { newKeys } from "./item-keys.js"
import { type FieldProblem, InvalidJson, initialOf, isSame, problemsOf, variantOf } from "./value.js"

export interface SchemaFormProps {
  readonly schema: JsonSchema
  /** Undefined before anything was entered; start with `initialOf(fieldOf(schema))`. */
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  /** Whether problems are shown: usually after the first try to send. */
  readonly showsProblems?: boolean
}

export function SchemaForm({ schema, value, onChange, showsProblems = false }: SchemaFormProps) {
  const field = useMemo(() => fieldOf(schema), [schema])
  const problems = showsProblems ? problemsOf(field, value) : []
  return (
    <div className="schema-form">
      <FieldInput
        field={field}
        name="Value"
        value={value}
        onChange={onChange}
        problems={problems}
        path={[]}
        isRequired
      />
    </div>
  )
}

interface FieldProps {
  readonly field: Field
  /** Used where the schema gives no title. */
  readonly name: string
  readonly value: unknown
  /** Undefined removes an optional value. */
  readonly onChange: (value: unknown) => void
  readonly problems: readonly FieldProblem[]
  readonly path: readonly (string | number)[]
  readonly isRequired: boolean
}

function FieldInput(props: FieldProps) {
  switch (props.field.kind) {
    case "object":
      return <ObjectInput {...props} field={props.field} />
    case "list":
      return <ListInput {...props} field={props.field} />
    case "variants":
      return <VariantsInput {...props} field={props.field} />
    case "boolean":
      return <BooleanInput {...props} />
    case "json":
      return <JsonInput {...props} />
    default:
      return <LineInput {...props} />
  }
}

/** Fields of one line or one text area, with their label, description and problem. */
function LineInput(props: FieldProps) {
  const { field, name, isRequired } = props
  const id = useId()
  const problem = problemAt(props)
  const describedBy = [field.description && `${id}-about`, problem && `${id}-problem`].filter(Boolean).join(" ")
  const shared = {
    id,
    "aria-invalid": problem !== undefined,
    ...(describedBy !== "" && { "aria-describedby": describedBy }),
  }
  return (
    <div className="field">
      <label htmlFor={id}>
        {field.label ?? name}
        {!isRequired && <span className="field-optional"> optional</span>}
      </label>
      <LineControl {...props} shared={shared} />
      <About id={id} text={field.description} problem={problem} />
    </div>
  )
}

function LineControl({
  field,
  value,
  onChange,
  isRequired,
  shared,
}: FieldProps & { shared: { id: string } }): ReactNode {
  const changed = (text: string) => onChange(text === "" && !isRequired ? undefined : text)
  const text = typeof value === "string" ? value : ""
  switch (field.kind) {
    case "text":
      if (field.isLong)
        return <textarea {...shared} rows={4} value={text} onChange={(event) => changed(event.target.value)} />
      return (
        <input
          {...shared}
          type={inputTypes.get(field.format ?? "") ?? "text"}
          value={text}
          onChange={(event) => changed(event.target.value)}
        />
      )
    case "number":
      return (
        <input
          {...shared}
          type="number"
          step={field.isInteger ? 1 : "any"}
          {...(Number.isFinite(field.minimum) && { min: field.minimum })}
          {...(Number.isFinite(field.maximum) && { max: field.maximum })}
          value={typeof value === "number" ? value : ""}
          onChange={({ target }) => onChange(target.value === "" ? undefined : target.valueAsNumber)}
        />
      )
    case "choice": {
      const chosen = field.choices.findIndex((choice) => isSame(choice.value, value))
      return (
        <select
          {...shared}
          value={chosen}
          onChange={({ target }) => onChange(field.choices[Number(target.value)]?.value)}
        >
          <option value={-1} disabled={isRequired}>
            {isRequired ? "Choose…" : "None"}
          </option>
          {field.choices.map(({ label }, n) => (
            <option key={label} value={n}>
              {label}
            </option>
          ))}
        </select>
      )
    }
    default:
      return <input {...shared} readOnly value={field.kind === "constant" ? JSON.stringify(field.value) : ""} />
  }
}

const inputTypes: ReadonlyMap<string, string> = new Map([
  ["email", "email"],
  ["date", "date"],
  ["time", "time"],
  ["uri", "url"],
  ["password", "password"],
])

function BooleanInput(props: FieldProps) {
  const { field, name, value, onChange } = props
  const id = useId()
  return (
    <div className="field">
      <label className="field-check">
        <input type="checkbox" checked={value === true} onChange={({ target }) => onChange(target.checked)} />
        {field.label ?? name}
      </label>
      <About id={id} text={field.description} problem={problemAt(props)} />
    </div>
  )
}

function JsonInput(props: FieldProps) {
  const { field, name, value, onChange, isRequired } = props
  const change = (next: unknown, problem: string | undefined) => {
    const isLeftOut = problem === noText && !isRequired
    onChange(problem === undefined || isLeftOut ? next : new InvalidJson(problem))
  }
  // The editor itself shows what is wrong with its text.
  const problem = value instanceof InvalidJson ? undefined : problemAt(props)
  return (
    <div className="field">
      <JsonEditor label={field.label ?? name} value={value} onChange={change} />
      <About id={name} text={field.description} problem={problem} />
    </div>
  )
}

function ObjectInput(props: FieldProps & { field: ObjectField }) {
  const { field, name, value, onChange, problems, path } = props
  const object = isObject(value) ? value : {}
  const change = (key: string, next: unknown) => {
    const { [key]: _, ...others } = object
    onChange(next === undefined ? others : { ...object, [key]: next })
  }
  const fields = field.properties.map(({ name: key, isRequired, field: property }) => (
    <FieldInput
      key={key}
      field={property}
      name={key}
      value={object[key]}
      onChange={(next) => change(key, next)}
      problems={problems}
      path={[...path, key]}
      isRequired={isRequired}
    />
  ))
  return (
    <Group label={path.length === 0 ? field.label : (field.label ?? name)} text={field.description}>
      {fields}
    </Group>
  )
}

function ListInput(props: FieldProps & { field: Extract<Field, { kind: "list" }> }) {
  const { field, name, value, onChange, problems, path } = props
  const items = Array.isArray(value) ? value : []
  const [keys] = useState(newKeys)
  const itemKeys = keys.of(items.length)
  const label = field.label ?? name
  const removeAt = (n: number) => {
    keys.remove(n)
    onChange(items.filter((_, at) => at !== n))
  }
  const changeAt = (n: number, next: unknown) => onChange(items.map((item, at) => (at === n ? (next ?? null) : item)))
  return (
    <Group label={label} text={field.description}>
      {items.map((item, n) => (
        <div key={itemKeys[n]} className="field-item">
          <FieldInput
            field={field.item}
            name={`${label} ${n + 1}`}
            value={item}
            onChange={(next) => changeAt(n, next)}
            problems={problems}
            path={[...path, n]}
            isRequired
          />
          <Button look="quiet" label={`Remove ${label} ${n + 1}`} onPress={() => removeAt(n)}>
            <X size={14} aria-hidden />
          </Button>
        </div>
      ))}
      <Button onPress={() => onChange([...items, initialOf(field.item) ?? null])}>
        <Plus size={14} aria-hidden /> Add
      </Button>
      <About id={name} text={undefined} problem={problemAt(props)} />
    </Group>
  )
}

function VariantsInput(props: FieldProps & { field: Extract<Field, { kind: "variants" }> }) {
  const { field, name, value, onChange } = props
  const id = useId()
  const chosen = variantOf(field, value)
  const variant = field.variants[chosen]
  return (
    <Group label={undefined} text={field.description}>
      <div className="field">
        <label htmlFor={id}>{field.label ?? name}</label>
        <select id={id} value={chosen} onChange={({ target }) => onChange(startOf(field, Number(target.value)))}>
          {field.variants.map(({ label }, n) => (
            <option key={label} value={n}>
              {label}
            </option>
          ))}
        </select>
      </div>
      {variant && <FieldInput key={chosen} {...props} field={variant.field} name={variant.label} />}
    </Group>
  )
}

// A text variant without a value would be taken for the first variant again.
const startOf = (field: Extract<Field, { kind: "variants" }>, n: number): unknown => {
  const variant = field.variants[n]?.field
  return variant && (initialOf(variant) ?? (variant.kind === "text" ? "" : variant.kind === "number" ? 0 : null))
}

function Group({
  label,
  text,
  children,
}: {
  label: string | undefined
  text: string | undefined
  children: ReactNode
}) {
  if (label === undefined) return <div className="field-group-plain">{children}</div>
  return (
    <fieldset className="field-group">
      <legend>{label}</legend>
      {text !== undefined && <p className="field-help">{text}</p>}
      {children}
    </fieldset>
  )
}

function About({ id, text, problem }: { id: string; text: string | undefined; problem: string | undefined }) {
  return (
    <>
      {text !== undefined && (
        <p id={`${id}-about`} className="field-help">
          {text}
        </p>
      )}
      {problem !== undefined && (
        <p id={`${id}-problem`} className="field-problem">
          {problem}
        </p>
      )}
    </>
  )
}

const problemAt = ({ problems, path }: FieldProps): string | undefined =>
  problems.find((problem) => problem.path.length === path.length && problem.path.every((part, n) => part === path[n]))
    ?.message

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
