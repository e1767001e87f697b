/** Signing in: at the provider, with a one-time code or an invitation of the address, or with an API key. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useCallback, useEffect, useState } from "react"
import { Logo } from "../frame/logo.js"
import { Problem } from "../frame/problem.js"
import { beginAtProvider, type Proof, providerQuery, sessionQuery, signIn } from "../platform/session.js"
import { codeIn, invitationIn, pathIn, problemIn } from "./address.js"
import { InvitationForm, KeyForm, ProviderButton } from "./forms.js"
import { ReplaceSession } from "./replace-session.js"

export function SignInPage() {
  const { next } = useSearch({ strict: false }) as { next?: unknown }
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const { mutate, isPending, error, variables } = useMutation({
    mutationFn: signIn,
    onSuccess: async (session) => {
      queryClient.clear()
      queryClient.setQueryData(sessionQuery.queryKey, session)
      await navigate({ href: pathIn(next), replace: true })
    },
  })
  const [code, setCode] = useState(() => codeIn(location.hash))
  const [invitation] = useState(() => invitationIn(location.hash))
  const [refusal] = useState(() => problemIn(location.hash))
  const provider = useQuery(providerQuery)
  const leaving = useMutation({
    mutationFn: beginAtProvider,
    onSuccess: (url) => location.assign(url),
  })
  const { data: session, isPending: isSessionPending } = useQuery({ ...sessionQuery, enabled: code !== undefined })
  const isSignedIn = session !== undefined && session !== null
  const sendCode = useCallback(() => {
    if (code !== undefined) mutate({ code })
    setCode(undefined)
  }, [code, mutate])
  useEffect(() => {
    document.title = "Sign in · Superstep"
    // A code works once, so it must not stay in the address, where a reload would send it again.
    if (location.hash !== "") history.replaceState(history.state, "", location.pathname + location.search)
  }, [])
  useEffect(() => {
    if (code !== undefined && !isSessionPending && !isSignedIn) sendCode()
  }, [code, isSessionPending, isSignedIn, sendCode])
  const goToProvider = () =>
    leaving.mutate({ ...(invitation !== undefined && { invitation }), ...(typeof next === "string" && { next }) })
  const providerName = provider.data?.name
  const isKnown = provider.data !== undefined
  const failed = error ?? leaving.error ?? provider.error
  return (
    <main className="sign-in">
      <div className="sign-in-box">
        <h1>
          <Logo size={28} /> Superstep
        </h1>
        {failed && <Problem error={failed} next={nextStep(variables)} />}
        {refusal !== undefined && !failed && <Problem error={refusal.what} next={refusal.next} />}
        {code !== undefined && session ? (
          <ReplaceSession
            session={session}
            onKeep={() => void navigate({ href: pathIn(next), replace: true })}
            onReplace={sendCode}
          />
        ) : invitation !== undefined && isKnown && providerName === undefined ? (
          <InvitationForm isPending={isPending} onSend={(name) => mutate({ invitation, name })} />
        ) : (
          <>
            {providerName !== undefined && (
              <ProviderButton
                name={providerName}
                isInvited={invitation !== undefined}
                isPending={leaving.isPending || leaving.isSuccess}
                onPress={goToProvider}
              />
            )}
            {invitation === undefined && (isKnown || provider.isError) && (
              <KeyForm
                isPending={isPending}
                isSecond={providerName !== undefined}
                onSend={(api_key) => mutate({ api_key })}
              />
            )}
          </>
        )}
      </div>
    </main>
  )
}

function nextStep(tried: Proof | undefined): string | undefined {
  if (tried === undefined) return undefined
  if ("code" in tried)
    return "A code works once, for ten minutes. Run superstep console for a new one, or sign in again."
  if ("invitation" in tried) return "Ask an admin of the workspace for a new invitation."
  return "Check that the whole key was pasted, and that it was neither revoked nor has expired."
}
