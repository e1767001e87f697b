/** Two ways to a deployment: the example, and a git repository. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { DialogForm } from "../forms/dialog-form.js"
import { Field, useFields } from "../forms/field.js"
import { Button, onlyReads } from "../frame/button.js"
import { AddDialog } from "../frame/dialog.js"
import { Problem } from "../frame/problem.js"
import type { Deployment } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import { deployExample, deployRepository } from "./deploy.js"
import { ChooseIntegration } from "./integrations.js"

/** Shows the build of the deployment's first revision. */
function useOpenBuild() {
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  return async ({ id, latest_revision_id }: Deployment) => {
    await queryClient.invalidateQueries({ queryKey: ["deployments"] })
    await navigate({
      to: latest_revision_id ? `/deployments/${id}/revisions/${latest_revision_id}` : `/deployments/${id}`,
    })
  }
}

export function DeployExample() {
  const platform = usePlatform()
  const onSuccess = useOpenBuild()
  const { mutate, isPending, error } = useMutation({ mutationFn: () => deployExample(platform), onSuccess })
  return (
    <>
      {error && <Problem error={error} />}
      <Button
        look="primary"
        isPending={isPending}
        onPress={() => mutate()}
        disabledBecause={platform.mayWrite ? undefined : onlyReads}
      >
        {isPending ? "Deploying…" : "Deploy the example"}
      </Button>
    </>
  )
}

export function NewDeployment() {
  const { mayWrite } = usePlatform()
  return (
    <AddDialog
      title="Deploy a git repository"
      add="New deployment"
      look="primary"
      disabledBecause={mayWrite ? undefined : onlyReads}
    >
      <RepositoryForm />
    </AddDialog>
  )
}

function RepositoryForm() {
  const platform = usePlatform()
  const openBuild = useOpenBuild()
  const { given, field } = useFields({ name: "", repoUrl: "", ref: "main", configPath: "langgraph.json" })
  const [integrationId, setIntegrationId] = useState<string | null>(null)
  return (
    <DialogForm submit="Deploy" act={() => deployRepository(platform, { ...given, integrationId })} onDone={openBuild}>
      <p className="soft">
        A project in a folder is deployed by <code>superstep deploy</code>.
      </p>
      <Field
        label="Repository"
        placeholder="https://git.example.com/team/agent.git"
        help="For a private repository create an integration with a token first."
        {...field("repoUrl")}
      />
      <ChooseIntegration value={integrationId} onChange={setIntegrationId} />
      <Field label="Name" help="Becomes a part of the address." {...field("name")} />
      <div className="new-deployment-row">
        <Field label="Branch, tag or commit" {...field("ref")} />
        <Field label="Configuration" {...field("configPath")} />
      </div>
    </DialogForm>
  )
}
