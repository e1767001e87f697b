/** A run that a breakpoint has stopped, and the button that lets it go on. */
import { useMutation } from "@tanstack/react-query"
import { useAgent } from "../agent/use-agent.js"
import type { Sending } from "../composer/sending.js"
import { Button, notApproving, onlyReads } from "../frame/button.js"
import { Play } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"

interface Props {
  /** What comes next. */
  readonly nodes: readonly string[]
  readonly goOn: Sending["goOn"]
  /** Why it cannot go on now. */
  readonly blocked: string | undefined
}

export function Stopped({ nodes, goOn, blocked }: Props) {
  const { mayRun, mayApprove } = useAgent()
  const going = useMutation({ mutationFn: () => goOn() })
  return (
    <div className="chat-question" role="status">
      <p className="chat-stopped">
        <span className="breakpoint-dot" aria-hidden /> Stopped at a breakpoint, before <code>{nodes.join(", ")}</code>
      </p>
      {going.error && <Problem error={going.error} />}
      <Button
        look="primary"
        disabledBecause={mayApprove ? blocked : mayRun ? notApproving : onlyReads}
        isPending={going.isPending}
        onPress={() => going.mutate()}
      >
        <Play size={14} aria-hidden /> Continue
      </Button>
    </div>
  )
}
