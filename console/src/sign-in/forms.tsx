/** The ways to sign in, one card each. */
import { useState } from "react"
import { Input } from "react-aria-components/Input"
import { Label } from "react-aria-components/Label"
import { TextField } from "react-aria-components/TextField"
import { Form } from "../forms/form.js"
import { Button } from "../frame/button.js"

interface ProviderButtonProps {
  readonly name: string
  /** The person follows the link of an invitation. */
  readonly isInvited: boolean
  readonly isPending: boolean
  readonly onPress: () => void
}

export function ProviderButton({ name, isInvited, isPending, onPress }: ProviderButtonProps) {
  return (
    <section className="sign-in-card" aria-label="Sign in with your account">
      {isInvited && <p>You are invited to a workspace. Sign in with the account of the invited e-mail address.</p>}
      <Button look="primary" isPending={isPending} onPress={onPress}>
        Sign in with {name}
      </Button>
    </section>
  )
}

interface InvitationFormProps {
  readonly isPending: boolean
  readonly onSend: (name: string) => void
}

export function InvitationForm({ isPending, onSend }: InvitationFormProps) {
  const [name, setName] = useState("")
  return (
    <Form className="sign-in-card" aria-label="Accept the invitation" onSend={() => onSend(name.trim())}>
      <p>You are invited to a workspace. The link works once, and signs you in.</p>
      <TextField value={name} onChange={setName} isRequired autoFocus maxLength={200}>
        <Label>Your name</Label>
        <Input autoComplete="name" />
      </TextField>
      <Button type="submit" look="primary" isPending={isPending}>
        Accept the invitation
      </Button>
    </Form>
  )
}

interface KeyFormProps {
  readonly isPending: boolean
  /** Another way comes first. */
  readonly isSecond: boolean
  readonly onSend: (apiKey: string) => void
}

export function KeyForm({ isPending, isSecond, onSend }: KeyFormProps) {
  const [apiKey, setApiKey] = useState("")
  return (
    <>
      {isSecond && <p className="sign-in-or">or with an API key</p>}
      <Form className="sign-in-card" onSend={() => onSend(apiKey.trim())}>
        <TextField value={apiKey} onChange={setApiKey} type="password" isRequired autoFocus={!isSecond}>
          <Label>API key</Label>
          <Input placeholder="ssk_…" autoComplete="off" spellCheck="false" />
        </TextField>
        <Button type="submit" look={isSecond ? "plain" : "primary"} isPending={isPending}>
          {isPending ? "Signing in…" : "Sign in"}
        </Button>
      </Form>
      <p className="sign-in-help">
        <code>superstep console</code> prints an address that signs you in without a key.
      </p>
    </>
  )
}
