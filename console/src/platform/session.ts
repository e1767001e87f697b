/** Who is signed in at the control plane, and at which workspace this page looks. */
import { queryOptions } from "@tanstack/react-query"
import { ApiError, jsonOf } from "../requests/api-error.js"

/** A person with an account. */
export interface Person {
  readonly person_id: string
  readonly name: string
  readonly email: string
}

export interface SessionWorkspace {
  readonly workspace_id: string
  readonly name: string
  /** Of the person; null for a key. */
  readonly role: string | null
  readonly scopes: readonly string[]
}

export interface Session {
  readonly session_id: string
  /** Whose it is; null when it stands for a key. */
  readonly person: Person | null
  readonly workspaces: readonly SessionWorkspace[]
  /** In the chosen workspace. */
  readonly scopes: readonly string[]
  readonly is_operator: boolean
  /** Of the key that it stands for. */
  readonly key_prefix: string | null
  readonly expires_at: string
}

/** By what people recognize who is signed in. */
export const nameOf = ({ person, key_prefix }: Pick<Session, "person" | "key_prefix">): string =>
  person?.name ?? `${key_prefix ?? ""}…`

export const sessionQuery = queryOptions({ queryKey: ["session"], queryFn: readSession, staleTime: 60_000 })

/** @returns  null without a session */
async function readSession(): Promise<Session | null> {
  try {
    return inWorkspace((await jsonOf(await fetch("/v2/console/session"))) as Session)
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null
    throw error
  }
}

/** The rights of a person differ from one workspace to the other. */
function inWorkspace(session: Session): Session {
  const chosen = session.workspaces.find(({ workspace_id }) => workspace_id === workspaceOf(session))
  return { ...session, scopes: chosen?.scopes ?? session.scopes }
}

/** What a person shows to sign in: a code, a key, or where no provider is set the link of an invitation. */
export type Proof =
  | { readonly code: string }
  | { readonly api_key: string }
  | { readonly invitation: string; readonly name: string }

/** @throws ApiError  the code, the key or the invitation is not valid */
export async function signIn(proof: Proof): Promise<Session> {
  const path = "invitation" in proof ? "/v2/console/invitation" : "/v2/console/sessions"
  const session = inWorkspace((await jsonOf(await send(path, proof))) as Session)
  // The session before it may have ended without a sign-out.
  forgetTab()
  return session
}

/** Removes what the pages keep in the tab for its person: a context of runs often has keys of other services. */
export const forgetTab = (): void => sessionStorage.clear()

/** Begins a sign-in by the provider. @returns  the provider's page @throws ApiError  it does not answer */
export async function beginAtProvider(asked: {
  readonly invitation?: string
  readonly next?: string
}): Promise<string> {
  const { url } = (await jsonOf(await send("/v2/console/oidc", asked))) as { url: string }
  return url
}

const send = (path: string, body: object) =>
  fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })

/** The provider with which people sign in; null where none is set. */
export const providerQuery = queryOptions({
  queryKey: ["sign-in"],
  queryFn: async () =>
    ((await jsonOf(await fetch("/v2/console/sign-in"))) as { provider: { readonly name: string } | null }).provider,
  staleTime: 60_000,
})

export async function signOut(): Promise<void> {
  await jsonOf(await fetch("/v2/console/session", { method: "DELETE" }))
}

const workspaceKey = "superstep.workspace"

/** The chosen workspace if the session has it, else its first one. */
export function workspaceOf(
  { workspaces }: Pick<Session, "workspaces">,
  chosen = localStorage.getItem(workspaceKey),
): string | undefined {
  return (workspaces.find(({ workspace_id }) => workspace_id === chosen) ?? workspaces[0])?.workspace_id
}

export const chooseWorkspace = (id: string): void => localStorage.setItem(workspaceKey, id)

/** Whether the session may write: keys with the scope `read` only see. */
export const mayWrite = ({ scopes }: Session): boolean => scopes.includes("deploy") || scopes.includes("admin")
