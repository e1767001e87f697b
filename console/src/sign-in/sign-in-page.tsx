/** Signing in: with the one-time code of the address that the terminal printed, or with an API key. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useCallback, useEffect, useState } from "react"
import { Form } from "react-aria-components/Form"
import { Input } from "react-aria-components/Input"
import { Label } from "react-aria-components/Label"
import { TextField } from "react-aria-components/TextField"
import { Button } from "../frame/button.js"
import { Logo } from "../frame/logo.js"
import { Problem } from "../frame/problem.js"
import { sessionQuery, signIn } from "../platform/session.js"
import { codeIn, pathIn } from "./address.js"
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
  return (
    <main className="sign-in">
      <div className="sign-in-box">
        <h1>
          <Logo size={28} /> Superstep
        </h1>
        {error && <Problem error={error} next={variables && "code" in variables ? oldCode : wrongKey} />}
        {code !== undefined && session ? (
          <ReplaceSession
            session={session}
            onKeep={() => void navigate({ href: pathIn(next), replace: true })}
            onReplace={sendCode}
          />
        ) : (
          <KeyForm isPending={isPending} onSend={(api_key) => mutate({ api_key })} />
        )}
      </div>
    </main>
  )
}

function KeyForm({ isPending, onSend }: { isPending: boolean; onSend: (apiKey: string) => void }) {
  const [apiKey, setApiKey] = useState("")
  return (
    <>
      <Form
        className="sign-in-card"
        onSubmit={(event) => {
          event.preventDefault()
          onSend(apiKey.trim())
        }}
      >
        <TextField value={apiKey} onChange={setApiKey} type="password" isRequired autoFocus>
          <Label>API key</Label>
          <Input placeholder="ssk_…" autoComplete="off" spellCheck="false" />
        </TextField>
        <Button type="submit" look="primary" isPending={isPending}>
          {isPending ? "Signing in…" : "Sign in"}
        </Button>
      </Form>
      <p className="sign-in-help">
        <code>superstep console</code> prints an address that signs you in without a key.
      </p>
    </>
  )
}

const oldCode = "A code works once, for ten minutes. Run superstep console for a new one, or paste an API key."
const wrongKey = "Check that the whole key was pasted, and that it was neither revoked nor has expired."
