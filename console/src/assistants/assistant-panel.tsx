/** One assistant: the chosen version, or what differs between two. */
import type { Assistant, AssistantVersion } from "@langchain/langgraph-sdk"
import { useAgent } from "../agent/use-agent.js"
import { SelectField } from "../forms/field.js"
import { Badge } from "../frame/badge.js"
import { Button, onlyReads } from "../frame/button.js"
import { Removal } from "../frame/dialog.js"
import { Problem } from "../frame/problem.js"
import { Ago } from "../frame/time.js"
import { JsonView } from "../json-editor/json-view.js"
import { EditAssistant } from "./assistant-dialogs.js"
import { useAssistantActions, useVersions } from "./use-assistants.js"
import { VersionTable } from "./version-table.js"

interface AssistantPanelProps {
  readonly assistant: Assistant
  /** The shown version; undefined is the latest. */
  readonly version: number | undefined
  /** The version to compare it with. */
  readonly compare: number | undefined
  readonly onChange: (change: {
    version?: number | undefined
    compare?: number | undefined
    assistant?: string | undefined
  }) => void
}

export function AssistantPanel({ assistant, version, compare, onChange }: AssistantPanelProps) {
  const { mayRun } = useAgent()
  const versions = useVersions(assistant.assistant_id)
  const { setLatest, remove } = useAssistantActions()
  const shown = versions.find((one) => one.version === (version ?? assistant.version)) ?? versions[0]
  const other = versions.find((one) => one.version === compare)
  const blocked = mayRun ? undefined : onlyReads
  if (!shown) return null
  const isLatest = shown.version === assistant.version
  return (
    <section className="assistant card" aria-label={assistant.name}>
      <header className="panel-head">
        <div>
          <h2>{shown.name}</h2>
          <p className="soft">
            {assistant.graph_id} · <span className="mono">{assistant.assistant_id}</span>
          </p>
          {shown.description && <p className="assistant-about">{shown.description}</p>}
        </div>
        <div className="assistant-actions">
          <EditAssistant
            assistant={assistant}
            version={shown}
            onSaved={() => onChange({ version: undefined, compare: undefined })}
          />
          <Removal
            title={`Delete ${assistant.name}?`}
            label={`Delete ${assistant.name}`}
            disabledBecause={blocked}
            act={async () => {
              await remove(assistant.assistant_id)
              onChange({ assistant: undefined, version: undefined, compare: undefined })
            }}
          >
            All of its versions are deleted. Its threads stay.
          </Removal>
        </div>
      </header>
      <div className="assistant-versions">
        <VersionSelect
          label="Version"
          versions={versions}
          latest={assistant.version}
          value={shown.version}
          onChange={(next) => onChange({ version: next })}
        />
        <VersionSelect
          label="Compare with"
          versions={versions}
          latest={assistant.version}
          value={compare}
          onChange={(next) => onChange({ compare: next })}
          hasNone
        />
        <div className="assistant-latest">
          {isLatest ? (
            <Badge tone="good">latest</Badge>
          ) : (
            <Button
              isPending={setLatest.isPending}
              disabledBecause={blocked}
              onPress={() => setLatest.mutate({ assistantId: assistant.assistant_id, version: shown.version })}
            >
              Make version {shown.version} the latest
            </Button>
          )}
          <span className="soft">
            created <Ago at={shown.created_at} />
          </span>
        </div>
      </div>
      {setLatest.error && <Problem error={setLatest.error} />}
      {other && other !== shown ? <VersionTable before={other} after={shown} /> : <VersionFieldsView version={shown} />}
    </section>
  )
}

interface VersionSelectProps {
  readonly label: string
  readonly versions: readonly AssistantVersion[]
  readonly latest: number
  readonly value: number | undefined
  readonly onChange: (version: number | undefined) => void
  readonly hasNone?: boolean
}

function VersionSelect({ label, versions, latest, value, onChange, hasNone = false }: VersionSelectProps) {
  return (
    <SelectField
      label={label}
      value={value ?? ""}
      onChange={(chosen) => onChange(chosen === "" ? undefined : Number(chosen))}
    >
      {hasNone && <option value="">no other</option>}
      {versions.map(({ version }) => (
        <option key={version} value={version}>
          {version}
          {version === latest ? " (latest)" : ""}
        </option>
      ))}
    </SelectField>
  )
}

const fields = ["context", "config", "metadata"] as const

const VersionFieldsView = ({ version }: { version: AssistantVersion }) => (
  <>
    {fields.map((field) => (
      <div key={field}>
        <h3>{field[0]?.toUpperCase() + field.slice(1)}</h3>
        <JsonView value={version[field] ?? {}} label={field} />
      </div>
    ))}
  </>
)
