/** Who is signed in at the control plane, and at which workspace this page looks. */
import { queryOptions } from "@tanstack/react-query"
import { ApiError, jsonOf } from "../frame/api-error.js"

export interface Session {
  readonly workspaces: readonly { readonly workspace_id: string; readonly name: string }[]
  readonly scopes: readonly string[]
  readonly is_operator: boolean
  readonly key_prefix: string
  readonly expires_at: string
}

export const sessionQuery = queryOptions({ queryKey: ["session"], queryFn: readSession, staleTime: 60_000 })

/** @returns  null without a session */
async function readSession(): Promise<Session | null> {
  try {
    return (await jsonOf(await fetch("/v2/console/session"))) as Session
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null
    throw error
  }
}

/** @throws ApiError  the code or the key is wrong */
export async function signIn(proof: { readonly code: string } | { readonly api_key: string }): Promise<Session> {
  const headers = { "content-type": "application/json" }
  const reply = await fetch("/v2/console/sessions", { method: "POST", headers, body: JSON.stringify(proof) })
  return (await jsonOf(reply)) as Session
}

export async function signOut(): Promise<void> {
  await jsonOf(await fetch("/v2/console/session", { method: "DELETE" }))
}

const workspaceKey = "superstep.workspace"

/** The chosen workspace if the session has it, else its first one. */
export function workspaceOf({ workspaces }: Session, chosen = localStorage.getItem(workspaceKey)): string | undefined {
  return (workspaces.find(({ workspace_id }) => workspace_id === chosen) ?? workspaces[0])?.workspace_id
}

export const chooseWorkspace = (id: string): void => localStorage.setItem(workspaceKey, id)

/** Whether the session may write: keys with the scope `read` only see. */
export const mayWrite = ({ scopes }: Session): boolean => scopes.includes("deploy") || scopes.includes("admin")
