/** A run that a breakpoint has stopped, and the button that lets it go on. */
import type { Sending } from "../composer/sending.js"
import { Button } from "../frame/button.js"
import { Play } from "../frame/icons.js"

interface Props {
  /** What comes next. */
  readonly nodes: readonly string[]
  readonly sending: Sending
  /** Why it cannot go on now. */
  readonly blocked: string | undefined
}

export function Stopped({ nodes, sending, blocked }: Props) {
  return (
    <div className="chat-question" role="status">
      <p className="chat-stopped">
        <span className="breakpoint-dot" aria-hidden /> Stopped at a breakpoint, before <code>{nodes.join(", ")}</code>
      </p>
      <Button
        look="primary"
        disabledBecause={blocked}
        isPending={sending.isSending}
        // The conversation shows why it was refused.
        onPress={() => sending.goOn().catch(() => {})}
      >
        <Play size={14} aria-hidden /> Continue
      </Button>
    </div>
  )
}
