/** Deletes a deployment with its data. */
import { useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { DialogForm } from "../forms/dialog-form.js"
import { Field } from "../forms/field.js"
import { onlyReads } from "../frame/button.js"
import { Dialog } from "../frame/dialog.js"
import { Section } from "../frame/section.js"
import { paths } from "../platform/paths.js"
import type { Deployment } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"

export function DeleteDeployment({ deployment }: { deployment: Deployment }) {
  const { mayWrite } = usePlatform()
  const button = {
    children: "Delete the deployment",
    look: "danger",
    disabledBecause: mayWrite ? undefined : onlyReads,
  } as const
  return (
    <Section
      title="Delete"
      about="Its processes, its database with all threads, and its revisions are deleted. Nothing brings them back."
    >
      <Dialog title={`Delete ${deployment.name}?`} button={button}>
        <DeleteForm deployment={deployment} />
      </Dialog>
    </Section>
  )
}

function DeleteForm({ deployment: { id, name } }: { deployment: Deployment }) {
  const { call } = usePlatform()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const [typed, setTyped] = useState("")
  const leave = async () => {
    await navigate({ to: "/" })
    await queryClient.invalidateQueries({ queryKey: ["deployments"] })
  }
  return (
    <DialogForm
      submit="Delete"
      look="danger-fill"
      disabledBecause={typed === name ? undefined : "Write its name first."}
      act={() => call(paths.deployment(id), { method: "DELETE" })}
      onDone={leave}
    >
      <p className="soft">All threads of its agent are deleted with it.</p>
      <Field label={`Write ${name} to confirm`} value={typed} onChange={setTyped} isRequired />
    </DialogForm>
  )
}
