/** Asks before a code replaces a session: anybody can make a link with a code of their own, to have others work in their name. */
import { Button } from "../frame/button.js"
import { nameOf, type Session } from "../platform/session.js"

interface ReplaceSessionProps {
  readonly session: Session
  readonly onKeep: () => void
  readonly onReplace: () => void
}

export function ReplaceSession({ session, onKeep, onReplace }: ReplaceSessionProps) {
  return (
    <section className="sign-in-card" aria-label="You are signed in already">
      <p>
        You are signed in {session.person ? "as" : "with the key"} <code>{nameOf(session)}</code>
      </p>
      <p className="soft">
        This address has a code that signs you in as somebody else. Use it only if you asked for it: by signing in
        again, by <code>superstep up</code> or by <code>superstep console</code>.
      </p>
      <Button look="primary" onPress={onKeep}>
        Stay signed in
      </Button>
      <Button onPress={onReplace}>Sign in with the code</Button>
    </section>
  )
}
