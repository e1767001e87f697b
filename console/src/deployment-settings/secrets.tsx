/** The secrets of a deployment: their names, and which revision saw which version. Values are shown only to a key that may. */
import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { shortId, shownRevision } from "../deployments/status.js"
import { DialogForm } from "../forms/dialog-form.js"
import { Field, useFields } from "../forms/field.js"
import { Button } from "../frame/button.js"
import { AddDialog, Removal } from "../frame/dialog.js"
import { Empty } from "../frame/empty.js"
import { Problem } from "../frame/problem.js"
import { Section } from "../frame/section.js"
import { paths } from "../platform/paths.js"
import { revisionsQuery } from "../platform/queries.js"
import type { Deployment } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import { refreshMs } from "../requests/query-client.js"
import { actionsHead, Table } from "../tables/table.js"
import { sinceText } from "./secret-versions.js"

interface SecretList {
  readonly resources: readonly { readonly name: string; readonly value: string }[]
  readonly secrets_version: number
}

export const needsSecretsScope = "Your key may not read or change secrets: that needs the scope secrets."

function useSecrets({ id }: Deployment) {
  const { call, scopes } = usePlatform()
  const queryClient = useQueryClient()
  const path = `${paths.deployment(id)}/secrets`
  const queryKey = ["secrets", id]
  const may = scopes.includes("secrets") || scopes.includes("admin")
  return {
    path,
    queryKey,
    refusal: may ? undefined : needsSecretsScope,
    change: async (name: string, value: string | undefined) => {
      const request = value === undefined ? { method: "DELETE" as const } : { method: "PUT" as const, body: { value } }
      await call(`${path}/${encodeURIComponent(name)}`, request)
      await queryClient.invalidateQueries({ predicate: (query) => query.queryKey.includes(id) })
    },
  }
}

export function Secrets({ deployment }: { deployment: Deployment }) {
  const platform = usePlatform()
  const { path, queryKey, refusal, change } = useSecrets(deployment)
  const { data } = useSuspenseQuery({
    queryKey,
    queryFn: ({ signal }) => platform.call<SecretList>(path, { signal }),
    refetchInterval: refreshMs,
  })
  const { data: revisions } = useQuery(revisionsQuery(platform, deployment.id))
  return (
    <Section
      title="Secrets"
      about={`Environment variables of the agent. Version ${data.secrets_version}; a change starts a new revision.`}
      actions={
        <AddDialog title="Set a secret" add="Set a secret" disabledBecause={refusal}>
          <SecretForm change={change} />
        </AddDialog>
      }
    >
      <Table
        label="Secrets"
        heads={["Name", "Value", "Since", actionsHead]}
        empty={<Empty title="No secrets yet">Keys of models and databases belong here, not into the repository.</Empty>}
      >
        {data.resources.map(({ name }) => (
          <tr key={name}>
            <td>
              <code>{name}</code>
            </td>
            <td>
              <Value path={path} name={name} refusal={refusal} />
            </td>
            <td className="soft">{revisions && sinceText(name, revisions)}</td>
            <td className="right">
              <Removal
                title={`Remove ${name}?`}
                word="Remove"
                disabledBecause={refusal}
                act={() => change(name, undefined)}
              >
                A new revision without it takes over. A rollback brings it back.
              </Removal>
            </td>
          </tr>
        ))}
      </Table>
      <details className="settings-versions note">
        <summary>Which revision saw which version</summary>
        <ul>
          {revisions?.resources.map((revision) => (
            <li key={revision.id}>
              <Link to={`/deployments/${deployment.id}/revisions/${revision.id}`}>
                <code>{shortId(revision.id)}</code>
              </Link>{" "}
              {shownRevision(revision, deployment.active_revision_id).word.toLowerCase()}: version{" "}
              {revision.secrets_version}
              {revision.secret_names.length > 0 && ` (${revision.secret_names.join(", ")})`}
            </li>
          ))}
        </ul>
        {revisions?.mayHaveOlder && <p>Older revisions are not listed here.</p>}
      </details>
    </Section>
  )
}

/** It is asked for one secret at a time, and each time is in the audit log. */
function Value({ path, name, refusal }: { path: string; name: string; refusal: string | undefined }) {
  const { call } = usePlatform()
  const { data, mutate, reset, error, isPending } = useMutation({
    gcTime: 0,
    mutationFn: () => call<{ value: string }>(`${path}/${encodeURIComponent(name)}?reveal=true`),
  })
  if (error) return <Problem error={error} />
  return (
    <div className="settings-value">
      {data ? <pre className="settings-secret">{data.value}</pre> : <code>••••••••</code>}
      <Button look="quiet" isPending={isPending} disabledBecause={refusal} onPress={() => (data ? reset() : mutate())}>
        {data ? "Hide" : "Show"}
      </Button>
    </div>
  )
}

function SecretForm({ change }: { change: (name: string, value: string) => Promise<void> }) {
  const { given, field } = useFields({ name: "", value: "" })
  return (
    <DialogForm submit="Set" act={() => change(given.name.trim(), given.value.replace(/\n$/, ""))}>
      <Field label="Name" placeholder="OPENAI_API_KEY" {...field("name")} />
      {/* Of several lines, as a key in PEM is. The break at its end comes from copying, as in `superstep secrets set`. */}
      <Field label="Value" type="password" isLong {...field("value")} />
      <p className="field-help">If the name exists, its value is replaced. A new revision with it starts at once.</p>
    </DialogForm>
  )
}
