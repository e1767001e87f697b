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
    return (await jsonOf(await fetch("/v2/console/session"))) as Session
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null
    throw error
  }
}

/** What a person shows to sign in: a code, a key, or where no provider is set the link of an invitation. */
export type Proof =
  | { readonly code: string }
  | { readonly api_key: string }
  | { readonly invitation: string; readonly name: string }

/** @throws ApiError  the code, the key or the invitation is not valid */
export async function signIn(proof: Proof): Promise<Session> {
  const path = "invitation" in proof ? "/v2/console/invitation" : "/v2/console/sessions"
  const session = (await jsonOf(await send(path, proof))) as Session
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

/** What one tab keeps, and what all tabs share. */
type Storages = Readonly<Record<"tab" | "browser", Pick<Storage, "getItem" | "setItem">>>

const storages = (): Storages => ({ tab: sessionStorage, browser: localStorage })

/**
 * The workspace of this tab. A tab keeps the one with which it began, whatever the person chooses in another tab: a form that
 * is open would be sent to the wrong workspace.
 */
export function workspaceOf(
  { workspaces }: Pick<Session, "workspaces">,
  { tab, browser }: Storages = storages(),
): SessionWorkspace | undefined {
  const withId = (id: string | null) => workspaces.find(({ workspace_id }) => workspace_id === id)
  const kept = withId(tab.getItem(workspaceKey))
  if (kept) return kept
  const first = withId(browser.getItem(workspaceKey)) ?? workspaces[0]
  if (first) tab.setItem(workspaceKey, first.workspace_id)
  return first
}

/** Chooses the workspace of this tab, and of tabs that begin after it. */
export function chooseWorkspace(id: string, { tab, browser }: Storages = storages()): void {
  for (const storage of [tab, browser]) storage.setItem(workspaceKey, id)
}
