/** What can be done with a deployment: a new revision, a restart, a pause. */
import { useQueryClient } from "@tanstack/react-query"
import { onlyReads } from "../frame/button.js"
import { Confirm } from "../frame/dialog.js"
import { paths } from "../platform/paths.js"
import type { Deployment } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"

/** @returns  a function that sends a POST below the deployment, and then reads everything about it again */
export function usePost(deploymentId: string) {
  const { call } = usePlatform()
  const queryClient = useQueryClient()
  return async (path: string, body: unknown = {}) => {
    await call(`${paths.deployment(deploymentId)}/${path}`, { method: "POST", body })
    await queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey.includes(deploymentId) })
  }
}

export function DeploymentActions({ deployment }: { deployment: Deployment }) {
  const { mayWrite } = usePlatform()
  const post = usePost(deployment.id)
  const refusal = mayWrite ? undefined : onlyReads
  const nothingServes = deployment.active_revision_id === null ? "No revision serves yet." : undefined
  const isPaused = deployment.run_state === "paused"
  return (
    <>
      {isPaused ? (
        <Confirm
          title="Resume this deployment?"
          button={{ children: "Resume", disabledBecause: refusal }}
          confirm="Resume"
          act={() => post("resume")}
        >
          Its processes start again, then its address answers.
        </Confirm>
      ) : (
        <Confirm
          title="Pause this deployment?"
          button={{ children: "Pause", disabledBecause: refusal ?? nothingServes }}
          confirm="Pause"
          act={() => post("pause")}
        >
          Its processes stop, and its address answers 503 until you resume it. Runs in flight are continued then.
        </Confirm>
      )}
      <Confirm
        title="Restart this deployment?"
        button={{
          children: "Restart",
          disabledBecause: refusal ?? nothingServes ?? (isPaused ? "It is paused: resume it first." : undefined),
        }}
        confirm="Restart"
        act={() => post("restart")}
      >
        New processes of the same revision replace the present ones, without an interruption.
      </Confirm>
      <Confirm
        title="Deploy again?"
        button={{ children: "New revision", look: "primary", disabledBecause: refusal }}
        confirm="Deploy"
        act={() => post("revisions")}
      >
        A new revision is built from the newest commit of{" "}
        <code>{deployment.source_config.repo_branch ?? "the uploaded source"}</code>, with the present settings and
        secrets.
      </Confirm>
    </>
  )
}
