/** The fields above the list of runs. */
import type { ReactNode } from "react"
import { useAssistants, useGraphs } from "../assistants/agent-graph.js"
import { MetadataField } from "../forms/metadata-field.js"
import { type Age, ageNames, ages } from "../frame/age.js"
import { Choice, FilterFields, TypedField } from "../frame/filter-fields.js"
import { areSet, type Duration, durations, type Filters, noFilters, type Status, statuses } from "./filters.js"

interface Props {
  readonly filters: Filters
  readonly onChange: (change: Partial<Filters>) => void
}

const durationNames: Readonly<Record<Duration, string>> = {
  "1s": "over a second",
  "10s": "over 10 seconds",
  "1min": "over a minute",
  "10min": "over 10 minutes",
}

export function RunFilters({ filters, onChange, found }: Props & { readonly found: string }) {
  const graphs = useGraphs(filters.graph)
  const { assistants } = useAssistants()
  const isListed =
    filters.assistant === undefined || assistants.some(({ assistant_id }) => assistant_id === filters.assistant)
  return (
    <FilterFields found={found} onClear={areSet(filters) ? () => onChange(noFilters) : undefined}>
      <SharedRunFilters filters={filters} onChange={onChange}>
        <Choice
          label="Graph"
          value={filters.graph}
          options={graphs.map((graph) => [graph, graph])}
          onChange={(graph) => onChange({ graph })}
        />
        {(assistants.length > graphs.length || filters.assistant !== undefined) && (
          <Choice
            label="Assistant"
            value={filters.assistant}
            options={[
              ...assistants.map(({ assistant_id, name }) => [assistant_id, name] as const),
              ...(isListed ? [] : [[filters.assistant ?? "", filters.assistant ?? ""] as const]),
            ]}
            onChange={(assistant) => onChange({ assistant })}
          />
        )}
      </SharedRunFilters>
    </FilterFields>
  )
}

/** What can be asked of the runs of any agent. @param children  fields of one agent, before those of the time */
export const SharedRunFilters = ({ filters, onChange, children }: Props & { readonly children?: ReactNode }) => (
  <>
    <TypedField label="Text in errors" value={filters.error} onChange={(error) => onChange({ error })} icon />
    <MetadataField value={filters.metadata} onChange={(metadata) => onChange({ metadata })} />
    {filters.revision !== undefined && (
      <TypedField label="Revision" value={filters.revision} onChange={(revision) => onChange({ revision })} />
    )}
    {filters.thread !== undefined && (
      <TypedField label="Thread" value={filters.thread} onChange={(thread) => onChange({ thread })} />
    )}
    <TypedField label="Caller" value={filters.user} onChange={(user) => onChange({ user })} />
    <Choice
      label="Status"
      value={filters.status}
      options={Object.keys(statuses).map((status) => [status, status])}
      onChange={(status) => onChange({ status: status as Status | undefined })}
    />
    {children}
    <Choice
      label="Requested"
      any="any time"
      value={filters.since}
      options={(Object.keys(ages) as Age[]).map((age) => [age, ageNames[age]])}
      onChange={(since) => onChange({ since: since as Age | undefined })}
    />
    <Choice
      label="Duration"
      value={filters.took}
      options={(Object.keys(durations) as Duration[]).map((each) => [each, durationNames[each]])}
      onChange={(took) => onChange({ took: took as Duration | undefined })}
    />
  </>
)
