/** What was asked for: the input, the configuration, the metadata. */
import { JsonView } from "../json-editor/json-view.js"
import type { RunInfo } from "./run-data.js"

export function RequestView({ run: { kwargs, metadata } }: { run: RunInfo }) {
  const { input, command, config, context, ...others } = (kwargs ?? {}) as Record<string, unknown>
  const parts = Object.entries({ input, command, context, config, metadata, others }).filter(([, value]) =>
    hasContent(value),
  )
  return (
    <div className="run-request">
      {parts.map(([name, value]) => (
        <section key={name}>
          <h2>{name === "others" ? "Other options" : name[0]?.toUpperCase() + name.slice(1)}</h2>
          <JsonView value={value} label={name} />
        </section>
      ))}
    </div>
  )
}

const hasContent = (value: unknown): boolean =>
  value !== undefined && value !== null && (typeof value !== "object" || Object.keys(value).length > 0)
