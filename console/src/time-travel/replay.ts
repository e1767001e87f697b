/** Runs a thread again from one of its checkpoints: what came after it stays, as a branch. */
import { useMutation } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useAgent } from "../agent/use-agent.js"
import { approvalRefusal } from "../frame/button.js"

interface Replayed {
  readonly threadId: string
  readonly assistantId: string
}

/** @returns  starts the run and opens its page; why the person may not, if so */
export function useReplay({ threadId, assistantId }: Replayed) {
  const agent = useAgent()
  const { client, base } = agent
  const navigate = useNavigate()
  const { mutate, isPending, error } = useMutation({
    mutationFn: (checkpointId: string) =>
      client.runs.create(threadId, assistantId, {
        input: null,
        checkpointId,
        multitaskStrategy: "reject",
        streamResumable: true,
        streamMode: ["updates", "tasks", "messages-tuple"],
      }),
    onSuccess: ({ run_id }) => navigate({ to: `${base}/threads/${threadId}/runs/${run_id}` }),
  })
  return { replay: mutate, isPending, error, refusal: approvalRefusal(agent) }
}
