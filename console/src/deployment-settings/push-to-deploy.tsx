/** Deploys each push to the branch: the switch, and the webhook to paste at the git host. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { CredentialsOf } from "../deployments/integrations.js"
import { Field } from "../forms/field.js"
import { Form } from "../forms/form.js"
import { Switch } from "../forms/switch.js"
import { Button, onlyReads } from "../frame/button.js"
import { CopyText } from "../frame/copy-text.js"
import { Problem } from "../frame/problem.js"
import { Section } from "../frame/section.js"
import type { Deployment } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import { ApiError } from "../requests/api-error.js"
import { useHome } from "../requests/home.js"
import { requestPath } from "../requests/request-path.js"
import { newSecret } from "./new-secret.js"
import { useChange } from "./use-change.js"

export function PushToDeploy({ deployment }: { deployment: Deployment }) {
  const { mayWrite } = usePlatform()
  const { mutate, isPending, error } = useChange(deployment)
  const { repo_url, repo_branch, build_on_push, integration_id, watch_paths } = deployment.source_config
  if (repo_url === null)
    return (
      <Section title="Push to deploy" about="Only deployments from a git repository are deployed by a push.">
        <p className="soft">
          This one was uploaded: run <code>superstep deploy</code> in its folder for a new revision.
        </p>
      </Section>
    )
  return (
    <Section
      title="Push to deploy"
      about={`Each push to ${repo_branch ?? "the branch"} of ${repo_url} starts a revision.`}
    >
      <div className="card settings-form">
        <Switch
          isSelected={build_on_push ?? false}
          isDisabled={!mayWrite || isPending}
          onChange={(isOn) => mutate({ source_config: { build_on_push: isOn } })}
        >
          Deploy each push
        </Switch>
        {!mayWrite && <p className="soft">{onlyReads}</p>}
        {watch_paths && watch_paths.length > 0 && (
          <p className="soft">
            Only pushes that change: <code>{watch_paths.join(", ")}</code>
          </p>
        )}
        {error && <Problem error={error} />}
        <CredentialsOf id={integration_id} />
        {integration_id !== null && <Webhook integrationId={integration_id} />}
      </div>
    </Section>
  )
}

interface WebhookSettings {
  readonly provider: string
  readonly secrets: number
  readonly path: string
}

function Webhook({ integrationId }: { integrationId: string }) {
  const { call, scopes } = usePlatform()
  const { base } = useHome()
  const queryClient = useQueryClient()
  const path = requestPath`/v2/integrations/git/${integrationId}/webhook`
  const queryKey = ["webhook", integrationId]
  const { data, error } = useQuery({
    queryKey,
    // 404: there is none yet.
    queryFn: ({ signal }) =>
      call<WebhookSettings>(path, { signal }).catch((reason: unknown) => {
        if (reason instanceof ApiError && reason.status === 404) return null
        throw reason
      }),
  })
  const [secret, setSecret] = useState("")
  const saving = useMutation({
    mutationFn: () => call(path, { method: "PUT", body: { secrets: [secret] } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey }),
  })
  const refusal = scopes.includes("admin") ? undefined : "This needs a key with the scope admin."
  if (error) return <Problem error={error} />
  return (
    <>
      {data && (
        <dl className="settings-facts">
          <dt>Address of the webhook</dt>
          <dd>
            <CopyText text={new URL(data.path, base).href} label="the address of the webhook" />
          </dd>
          <dt>Content type</dt>
          <dd>
            <code>application/json</code>, events: push (and pull requests, for previews)
          </dd>
          <dt>Secret</dt>
          <dd>{data.secrets > 0 ? "is set; it is not shown again" : "is missing: set one below"}</dd>
        </dl>
      )}
      <Form className="settings-row" onSend={() => saving.mutate()}>
        <Field
          label={data && data.secrets > 0 ? "Replace the secret" : "Secret of the webhook"}
          value={secret}
          onChange={setSecret}
          help="Paste the same into the webhook at the git host."
          isRequired
        />
        <Button onPress={() => setSecret(newSecret())}>Make one</Button>
        <Button type="submit" isPending={saving.isPending} disabledBecause={refusal}>
          Save
        </Button>
      </Form>
      {saving.error && <Problem error={saving.error} />}
      {saving.isSuccess && <p role="status">Saved.</p>}
    </>
  )
}
