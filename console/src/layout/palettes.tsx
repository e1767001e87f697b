/** The palette of either home: which deployments there are, and which agents may have a thread. */
import { useQuery } from "@tanstack/react-query"
import { readAgentToken } from "../agent/agent-token.js"
import { deployedAgent, ownAgent } from "../agent/use-agent.js"
import type { PlatformApi } from "../platform/api.js"
import { deploymentsQuery } from "../platform/queries.js"
import type { Deployment } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import { ApiError, jsonOf } from "../requests/api-error.js"
import { requestPath } from "../requests/request-path.js"
import { type FindThread, Palette } from "./palette.js"
import type { PlaceGroup } from "./places.js"

export interface HomePaletteProps {
  readonly groups: readonly PlaceGroup[]
  /** The deployment of the present page. */
  readonly deploymentId?: string | undefined
  /** Shows the list of keys. */
  readonly onHelp: () => void
  readonly onClose: () => void
}

export function PlatformPalette({ groups, deploymentId, ...acts }: HomePaletteProps) {
  const platform = usePlatform()
  const deployments = useQuery(deploymentsQuery(platform)).data?.resources ?? []
  const findThread = findInDeployments(platform.api, deployments, deploymentId)
  return <Palette groups={groups} deployments={deployments} findThread={findThread} {...acts} />
}

export const AgentPalette = ({ groups, onHelp, onClose }: HomePaletteProps) => (
  <Palette groups={groups} deployments={[]} findThread={findInOwnAgent} onHelp={onHelp} onClose={onClose} />
)

// A person waits for the answer.
const mostAgents = 20

/** Those that sleep are not asked, since a request would wake them, except `first`: its page is open. */
function findInDeployments(api: PlatformApi, all: readonly Deployment[], first: string | undefined): FindThread {
  const asked = all
    .filter(({ status, run_state: state, id }) => status === "READY" && (state === "running" || id === first))
    .sort((a, b) => Number(b.id === first) - Number(a.id === first))
    .slice(0, mostAgents)
  return async (threadId) => {
    const answers = await Promise.allSettled(
      asked.map(async ({ id, name }) => {
        const token = await readAgentToken(api, id)
        const agent = deployedAgent(id, token, async () => token)
        await jsonOf(await agent.fetch(requestPath`/threads/${threadId}`))
        return { to: `${agent.base}/threads/${threadId}`, agent: name }
      }),
    )
    const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []))
    const failed = answers.find((answer) => answer.status === "rejected" && !isMissing(answer.reason))
    // One that could not be asked may have it.
    if (found.length === 0 && failed?.status === "rejected") throw failed.reason
    return found
  }
}

const findInOwnAgent: FindThread = async (threadId) => {
  try {
    await jsonOf(await ownAgent(location.origin).fetch(requestPath`/threads/${threadId}`))
    return [{ to: `/threads/${threadId}`, agent: "" }]
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

const isMissing = (error: unknown): boolean => error instanceof ApiError && error.status === 404
