/** The fields above the list of threads. */
import { useGraphs } from "../assistants/agent-graph.js"
import { MetadataField } from "../forms/metadata-field.js"
import { type Age, ageNames, ages } from "../frame/age.js"
import { Choice, FilterFields, TypedField } from "../frame/filter-fields.js"
import { areSet, type Filters, noFilters, statuses, type ThreadStatus } from "./filters.js"

interface Props {
  readonly filters: Filters
  readonly onChange: (change: Partial<Filters>) => void
  readonly count: number | undefined
}

export function ThreadFilters({ filters, onChange, count }: Props) {
  const graphs = useGraphs(filters.graph)
  const found = count === undefined ? "" : `${count.toLocaleString("en")} ${count === 1 ? "thread" : "threads"}`
  return (
    <FilterFields found={found} onClear={areSet(filters) ? () => onChange(noFilters) : undefined}>
      <TypedField label="Text in values" value={filters.q} onChange={(q) => onChange({ q })} icon />
      <MetadataField value={filters.metadata} onChange={(metadata) => onChange({ metadata })} />
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
    </FilterFields>
  )
}
