/** The secrets of a deployment: their names, and which revision saw which version. Values are shown only to a key that may. */
import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { Form } from "react-aria-components/Form"
import { shortId, shownRevision } from "../deployments/status.js"
import { Button } from "../frame/button.js"
import { Confirm, Dialog } from "../frame/dialog.js"
import { Empty } from "../frame/empty.js"
import { Field } from "../frame/field.js"
import { Plus } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { refreshMs } from "../frame/query-client.js"
import { Section } from "../frame/section.js"
import { actionsHead, Table } from "../frame/table.js"
import { paths } from "../platform/paths.js"
import { revisionsQuery } from "../platform/queries.js"
import type { Deployment } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"

interface SecretList {
  readonly resources: readonly { readonly name: string; readonly value: string }[]
  readonly secrets_version: number
}

export const needsSecretsScope = "Your key may not read or change secrets: that needs the scope secrets."

function useSecrets({ id }: Deployment) {
  const { call, session } = usePlatform()
  const queryClient = useQueryClient()
  const path = `${paths.deployment(id)}/secrets`
  const queryKey = ["secrets", id]
  const may = session.scopes.includes("secrets") || session.scopes.includes("admin")
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
        <Dialog
          title="Set a secret"
          button={{
            disabledBecause: refusal,
            children: (
              <>
                <Plus size={14} aria-hidden /> Set a secret
              </>
            ),
          }}
        >
          {(close) => <SecretForm close={close} change={change} />}
        </Dialog>
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
            <td className="soft">{sinceText(name, revisions?.resources ?? [])}</td>
            <td className="right">
              <Confirm
                title={`Remove ${name}?`}
                button={{ children: "Remove", look: "quiet", disabledBecause: refusal }}
                confirm="Remove"
                isDangerous
                act={() => change(name, undefined)}
              >
                A new revision without it takes over. A rollback brings it back.
              </Confirm>
            </td>
          </tr>
        ))}
      </Table>
      <details className="settings-versions">
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
      </details>
    </Section>
  )
}

/** The version of the oldest of the newest revisions in a row that have the name. */
function sinceText(name: string, newestFirst: readonly { secrets_version: number; secret_names: readonly string[] }[]) {
  const without = newestFirst.findIndex(({ secret_names }) => !secret_names.includes(name))
  const oldest = (without < 0 ? newestFirst : newestFirst.slice(0, without)).at(-1)
  return oldest ? `version ${oldest.secrets_version}` : "the next revision"
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
    <span className="settings-value">
      <code>{data ? data.value : "••••••••"}</code>
      <Button look="quiet" isPending={isPending} disabledBecause={refusal} onPress={() => (data ? reset() : mutate())}>
        {data ? "Hide" : "Show"}
      </Button>
    </span>
  )
}

function SecretForm({ close, change }: { close: () => void; change: (name: string, value: string) => Promise<void> }) {
  const [name, setName] = useState("")
  const [value, setValue] = useState("")
  const { mutate, isPending, error } = useMutation({ mutationFn: () => change(name.trim(), value), onSuccess: close })
  return (
    <Form
      onSubmit={(event) => {
        event.preventDefault()
        mutate()
      }}
    >
      <Field label="Name" value={name} onChange={setName} placeholder="OPENAI_API_KEY" isRequired />
      <Field label="Value" value={value} onChange={setValue} type="password" isRequired />
      <p className="field-help">If the name exists, its value is replaced. A new revision with it starts at once.</p>
      {error && <Problem error={error} />}
      <div className="dialog-actions">
        <Button onPress={close}>Cancel</Button>
        <Button type="submit" look="primary" isPending={isPending}>
          Set
        </Button>
      </div>
    </Form>
  )
}
