/** Deletes a deployment with its data. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { Form } from "react-aria-components/Form"
import { Button, onlyReads } from "../frame/button.js"
import { Dialog } from "../frame/dialog.js"
import { Field } from "../frame/field.js"
import { Problem } from "../frame/problem.js"
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
        {(close) => <DeleteForm deployment={deployment} close={close} />}
      </Dialog>
    </Section>
  )
}

function DeleteForm({ deployment: { id, name }, close }: { deployment: Deployment; close: () => void }) {
  const { call } = usePlatform()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const [typed, setTyped] = useState("")
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => call(paths.deployment(id), { method: "DELETE" }),
    onSuccess: async () => {
      await navigate({ to: "/" })
      await queryClient.invalidateQueries({ queryKey: ["deployments"] })
    },
  })
  const refusal = typed === name ? undefined : "Write its name first."
  return (
    <Form
      onSubmit={(event) => {
        event.preventDefault()
        if (refusal === undefined) mutate()
      }}
    >
      <p className="soft">All threads of its agent are deleted with it.</p>
      <Field label={`Write ${name} to confirm`} value={typed} onChange={setTyped} isRequired />
      {error && <Problem error={error} />}
      <div className="dialog-actions">
        <Button onPress={close}>Cancel</Button>
        <Button type="submit" look="danger-fill" isPending={isPending} disabledBecause={refusal}>
          Delete
        </Button>
      </div>
    </Form>
  )
}
