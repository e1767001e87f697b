/** Refusals by an agent itself, whose project has access rules of its own (`auth.path`), told from those by the edge. */
import { nextStepField } from "../requests/api-error.js"

/** The user that the console is to the access rules of a project (decision 63). */
export const studioUser = "langgraph-studio-user"

/**
 * Adds to such a refusal what to do about it, since signing in again would not help. It stays a reply: the official client repeats a
 * request whose `fetch` throws.
 * @param isDeployed  the agent is behind an edge, whose own refusals name no revision
 * @param mayRun      whether the session's key may run agents
 */
export async function explained(
  reply: Response,
  { isDeployed, mayRun }: { readonly isDeployed: boolean; readonly mayRun: boolean },
): Promise<Response> {
  const { status } = reply
  if ((status !== 401 && status !== 403) || (isDeployed && !reply.headers.has("x-revision-id"))) return reply
  const said: unknown = await reply.json().catch(() => undefined)
  return Response.json({ ...(said as object | undefined), [nextStepField]: nextStep(status, mayRun) }, { status })
}

function nextStep(status: number, mayRun: boolean): string {
  if (status === 403)
    return `The agent's access rules (auth.path) do not allow this to the console's user, ${studioUser}. Let its handlers allow it.`
  if (!mayRun)
    return "This agent asks for its own login (auth.path). It opens to the console only for a key that may run agents, and yours may only read."
  return "This agent asks for its own login (auth.path) and does not open to the console: disable_studio_auth is set in its langgraph.json, or another server than ours runs it. Remove the setting and deploy, or use a client that sends a user's credentials."
}
