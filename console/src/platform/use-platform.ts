/** The control plane as a page sees it: who is signed in, and requests for the chosen workspace. */
import { useSuspenseQuery } from "@tanstack/react-query"
import { useMemo } from "react"
import { callPlatform, type PlatformApi, type PlatformRequest, platformApi } from "./api.js"
import { type Session, sessionQuery, workspaceOf } from "./session.js"

export interface Platform {
  readonly session: Session
  readonly workspaceId: string | undefined
  /** The rights in the workspace. */
  readonly scopes: readonly string[]
  /** False if the session may only read: buttons that write are disabled. */
  readonly mayWrite: boolean
  readonly api: PlatformApi
  /** @throws ApiError  the status is not 2xx */
  readonly call: <Reply>(path: string, request?: PlatformRequest) => Promise<Reply>
}

/** Only below the platform's layout, which shows the sign-in page to everyone else. */
export function usePlatform(): Platform {
  const { data: session } = useSuspenseQuery(sessionQuery)
  if (!session) throw new Error("This page needs a session: sign in first.")
  const workspace = workspaceOf(session)
  return useMemo(() => {
    const workspaceId = workspace?.workspace_id
    const scopes = workspace?.scopes ?? []
    const api = platformApi(workspaceId)
    return {
      session,
      workspaceId,
      scopes,
      mayWrite: scopes.includes("deploy") || scopes.includes("admin"),
      api,
      call: (path, request) => callPlatform(api, path, request),
    }
  }, [session, workspace])
}
