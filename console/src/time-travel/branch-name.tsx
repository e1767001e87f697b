/** The name of the branch that a checkpoint is on, kept in the thread's metadata. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { Form } from "../forms/form.js"
import { Button, onlyReads } from "../frame/button.js"
import { GitBranch } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { namesIn, namesKey, withName } from "./branch-names.js"

interface Props {
  readonly threadId: string
  readonly checkpointId: string
  readonly names: Readonly<Record<string, string>>
}

export function BranchName({ threadId, checkpointId, names }: Props) {
  const { client, url, mayRun } = useAgent()
  const queryClient = useQueryClient()
  const [typed, setTyped] = useState<string | undefined>()
  const present = names[checkpointId]
  const naming = useMutation({
    mutationFn: async (name: string) => {
      // Read again: another page may have named another branch meanwhile.
      const { metadata } = await client.threads.get(threadId)
      await client.threads.update(threadId, {
        metadata: { [namesKey]: withName(namesIn(metadata), checkpointId, name) },
      })
    },
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ["thread", url, threadId] })
      setTyped(undefined)
    },
  })
  if (typed === undefined)
    return (
      <Button look="quiet" disabledBecause={mayRun ? undefined : onlyReads} onPress={() => setTyped(present ?? "")}>
        <GitBranch size={14} aria-hidden /> {present ?? "Name the branch"}
      </Button>
    )
  return (
    <Form className="branch-name" onSend={() => naming.mutate(typed)}>
      {naming.error && <Problem error={naming.error} />}
      <input
        aria-label="Name of the branch"
        // biome-ignore lint/a11y/noAutofocus: the button that was pressed has become this field
        autoFocus
        maxLength={60}
        value={typed}
        placeholder="such as: refund refused"
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && setTyped(undefined)}
      />
      <Button type="submit" isPending={naming.isPending}>
        Save
      </Button>
    </Form>
  )
}
