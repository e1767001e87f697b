/** Signing in: with the one-time code of the address that the terminal printed, or with an API key. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useEffect, useState } from "react"
import { Form } from "react-aria-components/Form"
import { Input } from "react-aria-components/Input"
import { Label } from "react-aria-components/Label"
import { TextField } from "react-aria-components/TextField"
import { Button } from "../frame/button.js"
import { Logo } from "../frame/logo.js"
import { Problem } from "../frame/problem.js"
import { sessionQuery, signIn } from "../platform/session.js"
import { codeIn, pathIn } from "./address.js"

export function SignInPage() {
  const [apiKey, setApiKey] = useState("")
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
  useEffect(() => {
    document.title = "Sign in · Superstep"
    const code = codeIn(location.hash)
    if (code === undefined) return
    // A code works once, so it must not stay in the address, where a reload would send it again.
    history.replaceState(history.state, "", location.pathname + location.search)
    mutate({ code })
  }, [mutate])
  return (
    <main className="sign-in">
      <div className="sign-in-box">
        <h1>
          <Logo size={28} /> Superstep
        </h1>
        {error && <Problem error={error} next={variables && "code" in variables ? oldCode : wrongKey} />}
        <Form
          onSubmit={(event) => {
            event.preventDefault()
            mutate({ api_key: apiKey.trim() })
          }}
        >
          <TextField value={apiKey} onChange={setApiKey} type="password" isRequired autoFocus>
            <Label>API key</Label>
            <Input placeholder="lsv2_…" autoComplete="off" spellCheck="false" />
          </TextField>
          <Button type="submit" look="primary" isPending={isPending}>
            {isPending ? "Signing in…" : "Sign in"}
          </Button>
        </Form>
        <p className="sign-in-help">
          <code>superstep console</code> prints an address that signs you in without a key.
        </p>
      </div>
    </main>
  )
}

const oldCode = "A code works once, for ten minutes. Run superstep console for a new one, or paste an API key."
const wrongKey = "Check that the whole key was pasted, and that it was neither revoked nor has expired."
