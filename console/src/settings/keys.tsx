/** The API keys of the workspace with their scopes. */
import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Checkbox } from "react-aria-components/Checkbox"
import { Field } from "../forms/field.js"
import { Badge } from "../frame/badge.js"
import { AddDialog, Removal } from "../frame/dialog.js"
import { Section } from "../frame/section.js"
import { Ago } from "../frame/time.js"
import { paths } from "../platform/paths.js"
import { readList } from "../platform/queries.js"
import { usePlatform } from "../platform/use-platform.js"
import { refreshMs } from "../requests/query-client.js"
import { actionsHead, Table } from "../tables/table.js"
import { expiryOf, scopes, toggled } from "./scopes.js"
import { ShownOnce } from "./shown-once.js"

interface ApiKey {
  readonly id: string
  readonly name: string
  readonly prefix: string
  readonly scopes: readonly string[]
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
  readonly last_used_at: string | null
  readonly created_by: string | null
  readonly created_by_name: string | null
}

const path = paths.keys

export function Keys() {
  const { call, workspaceId } = usePlatform()
  const queryClient = useQueryClient()
  const queryKey = ["api-keys", workspaceId]
  const { data } = useSuspenseQuery({
    queryKey,
    queryFn: ({ signal }) => readList<ApiKey>({ call }, path, ({ id }) => id, signal),
    refetchInterval: refreshMs,
  })
  const readAgain = () => queryClient.invalidateQueries({ queryKey })
  return (
    <Section
      title="API keys"
      about="For programs. A revoked key ends its sessions at once."
      actions={
        <AddDialog title="New API key" add="New key">
          <KeyForm onCreated={readAgain} />
        </AddDialog>
      }
    >
      <Table label="API keys" heads={["Name", "Key", "Scopes", "Made by", "Last used", "Expires", actionsHead]}>
        {data.resources.toReversed().map((key) => (
          <tr key={key.id} className={key.revoked_at === null ? "" : "settings-off"}>
            <td>{key.name}</td>
            <td>
              <code>{key.prefix}…</code>
            </td>
            <td>{key.scopes.join(", ")}</td>
            <td>
              <Maker of={key} />
            </td>
            <td>{key.last_used_at ? <Ago at={key.last_used_at} /> : <span className="faint">never</span>}</td>
            <td>{key.expires_at ? <Ago at={key.expires_at} /> : <span className="faint">never</span>}</td>
            <td className="right">
              {key.revoked_at ? (
                <Badge tone="idle">Revoked</Badge>
              ) : (
                <Removal
                  title={`Revoke ${key.name}?`}
                  word="Revoke"
                  act={async () => {
                    await call(`${path}/${key.id}`, { method: "DELETE" })
                    await readAgain()
                  }}
                >
                  Requests with it get 401 from now on, and sessions that were opened with it end.
                </Removal>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </Section>
  )
}

function Maker({ of: { created_by: actor, created_by_name: name } }: { of: ApiKey }) {
  if (actor === null) return <span className="faint">the command line, or an earlier release</span>
  return <span title={actor}>{actor.startsWith("api_key:") ? `key ${name ?? ""}` : (name ?? actor)}</span>
}

function KeyForm({ onCreated }: { onCreated: () => Promise<void> }) {
  const { call } = usePlatform()
  const [name, setName] = useState("")
  const [chosen, setChosen] = useState<readonly string[]>(["read", "run"])
  const [days, setDays] = useState("")
  const make = async () => {
    const body = { name, scopes: chosen, expires_at: expiryOf(days, Date.now()) }
    return (await call<{ key: string }>(path, { method: "POST", body })).key
  }
  return (
    <ShownOnce
      submit="Create"
      disabledBecause={expiryOf(days, 0) === undefined ? "Days must be a whole number from 1." : undefined}
      make={make}
      onMade={onCreated}
      label="the key"
      advice="Copy the key now: it is not shown again."
    >
      <Field
        label="Name"
        help="What uses it, such as the pipeline of a repository."
        value={name}
        onChange={setName}
        isRequired
      />
      <fieldset className="settings-scopes">
        <legend className="label">Scopes</legend>
        {scopes.map(({ name: scope, about }) => (
          <Checkbox
            key={scope}
            className="settings-scope"
            isSelected={chosen.includes(scope)}
            onChange={(isOn) => setChosen(toggled(chosen, scope, isOn))}
          >
            <span className="checkbox-box" aria-hidden />
            <span>
              {scope} <span className="faint">{about}</span>
            </span>
          </Checkbox>
        ))}
      </fieldset>
      <Field label="Expires after days" help="Empty: never." value={days} onChange={setDays} />
    </ShownOnce>
  )
}
