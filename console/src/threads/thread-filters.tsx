/** The fields above the list. What is typed is searched once the typing pauses. */

import { useEffect, useRef, useState } from "react"
import { useAssistants } from "../assistants/agent-graph.js"
import { Button } from "../frame/button.js"
import { Search, X } from "../frame/icons.js"
import { type Age, ages, areSet, type Filters, noFilters, statuses, type ThreadStatus } from "./filters.js"

// Long enough for a word to be typed, short enough to feel like an answer.
const pauseMs = 250

interface Props {
  readonly filters: Filters
  readonly onChange: (change: Partial<Filters>) => void
  readonly count: number | undefined
}

const ageNames: Readonly<Record<Age, string>> = {
  "1h": "last hour",
  "24h": "last 24 hours",
  "7d": "last 7 days",
  "30d": "last 30 days",
}

export function ThreadFilters({ filters, onChange, count }: Props) {
  const { assistants } = useAssistants()
  const graphs = [
    ...new Set([...assistants.map(({ graph_id }) => graph_id), ...(filters.graph ? [filters.graph] : [])]),
  ]
  return (
    <search className="threads-filters">
      <TypedField label="Text in values" value={filters.q} onChange={(q) => onChange({ q })} icon />
      <TypedField
        label="Metadata"
        placeholder="user:ann plan:pro"
        value={filters.metadata}
        onChange={(metadata) => onChange({ metadata })}
      />
      <Choice
        label="Status"
        value={filters.status}
        options={statuses.map((status) => [status, status])}
        onChange={(status) => onChange({ status: status as ThreadStatus | undefined })}
      />
      <Choice
        label="Graph"
        value={filters.graph}
        options={graphs.map((graph) => [graph, graph])}
        onChange={(graph) => onChange({ graph })}
      />
      <Choice
        label="Updated"
        any="any time"
        value={filters.since}
        options={(Object.keys(ages) as Age[]).map((age) => [age, ageNames[age]])}
        onChange={(since) => onChange({ since: since as Age | undefined })}
      />
      {areSet(filters) && (
        <Button look="quiet" onPress={() => onChange(noFilters)}>
          <X size={14} aria-hidden /> Clear
        </Button>
      )}
      <output className="threads-count number">
        {count === undefined ? "" : `${count.toLocaleString("en")} ${count === 1 ? "thread" : "threads"}`}
      </output>
    </search>
  )
}

interface TypedFieldProps {
  readonly label: string
  readonly value: string | undefined
  readonly placeholder?: string
  readonly icon?: boolean
  readonly onChange: (value: string | undefined) => void
}

function TypedField({ label, value = "", placeholder = label, icon = false, onChange }: TypedFieldProps) {
  const [typed, setTyped] = useState(value)
  const waiting = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  // The address may change from outside: by the back button, or by "Clear".
  useEffect(() => setTyped(value), [value])
  useEffect(() => () => clearTimeout(waiting.current), [])
  const type = (text: string) => {
    setTyped(text)
    clearTimeout(waiting.current)
    waiting.current = setTimeout(() => onChange(text.trim() === "" ? undefined : text), pauseMs)
  }
  return (
    <div className={icon ? "threads-field threads-field-text" : "threads-field"}>
      {icon && <Search size={14} aria-hidden />}
      <input
        type="search"
        aria-label={label}
        placeholder={placeholder}
        value={typed}
        onChange={(event) => type(event.target.value)}
      />
    </div>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly any?: string
  readonly value: string | undefined
  readonly options: readonly (readonly [value: string, name: string])[]
  readonly onChange: (value: string | undefined) => void
}

const Choice = ({ label, any = `any ${label.toLowerCase()}`, value, options, onChange }: ChoiceProps) => (
  <select
    className="threads-choice"
    aria-label={label}
    value={value ?? ""}
    onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value)}
  >
    <option value="">{any}</option>
    {options.map(([each, name]) => (
      <option key={each} value={each}>
        {name}
      </option>
    ))}
  </select>
)
