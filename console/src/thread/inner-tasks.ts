/** Where nested graphs stopped. A history has only the outer graph's tasks; a state can be read with those within. */
import { useQuery } from "@tanstack/react-query"
import { useAgent } from "../agent/use-agent.js"
import type { TreeItem } from "../time-travel/checkpoint-tree.js"
import type { StateTask } from "./activity.js"

/** @returns undefined while they are not known, or where nothing stopped */
export function useInnerTasks(threadId: string, item: TreeItem | undefined): readonly StateTask[] | undefined {
  const { client, url } = useAgent()
  const checkpointId = item?.id ?? ""
  const { data } = useQuery({
    queryKey: ["inner-tasks", url, threadId, checkpointId, item?.item.tasks?.length],
    queryFn: async () => (await client.threads.getState(threadId, checkpointId, { subgraphs: true })).tasks,
    enabled:
      item?.item.tasks?.some(({ interrupts, error }) => Boolean(error) || (interrupts?.length ?? 0) > 0) ?? false,
  })
  return data as readonly StateTask[] | undefined
}
