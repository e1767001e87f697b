/** What follows the end of this browser's session. */
import { useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { forgetTab, providerQuery, sessionQuery } from "./session.js"

/** @returns  leads to the form to sign in, and keeps nothing that the person has read or set */
export function useSignedOut(): () => Promise<void> {
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  return async () => {
    await navigate({ to: "/sign-in" })
    forgetTab()
    // The page for signing in has asked for its provider by now, and would wait for ever for an answer that is removed.
    const [provider] = providerQuery.queryKey
    queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== provider })
    queryClient.setQueryData(sessionQuery.queryKey, null)
  }
}
