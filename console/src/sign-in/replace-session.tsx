/** Asks before a code replaces a session: anybody can make a link with a code of their own, to have others work in their name. */
import { Button } from "../frame/button.js"
import type { Session } from "../platform/session.js"

interface ReplaceSessionProps {
  readonly session: Session
  readonly onKeep: () => void
  readonly onReplace: () => void
}

export function ReplaceSession({ session, onKeep, onReplace }: ReplaceSessionProps) {
  return (
    <section className="sign-in-card" aria-label="You are signed in already">
      <p>
        You are signed in with the key <code>{session.key_prefix}…</code>
      </p>
      <p className="soft">
        This address has a code that signs you in with another key. Use it only if you asked for it, by{" "}
        <code>superstep up</code> or <code>superstep console</code>.
      </p>
      <Button look="primary" onPress={onKeep}>
        Stay signed in
      </Button>
      <Button onPress={onReplace}>Sign in with the code</Button>
    </section>
  )
}
