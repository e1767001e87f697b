/** The people who changed the thread's state, with the time: the last few, newest last. Who answered is beside each answer. */
import { useQuery } from "@tanstack/react-query"
import { useAgent } from "../agent/use-agent.js"
import { Ago } from "../frame/time.js"
import { jsonOf } from "../requests/api-error.js"
import { requestPath } from "../requests/request-path.js"

interface Act {
  readonly acted_at: string
  readonly kind: "run" | "answer" | "edit"
  readonly person: { readonly name: string; readonly email: string }
  readonly changed: readonly string[] | null
}

const mostShown = 3
const mostRead = 20

/** @param version  what is read is old when it changes */
export function WhoActed({ threadId, version }: { threadId: string; version: string | undefined }) {
  const agent = useAgent()
  const { data = [] } = useQuery({
    queryKey: ["acts", agent.url, threadId, version],
    queryFn: async ({ signal }) => {
      const reply = await agent.fetch(`${requestPath`/threads/${threadId}/acts`}?limit=${mostRead}`, { signal })
      // An agent server of an earlier release records no acts.
      return reply.status === 404 ? [] : ((await jsonOf(reply)) as Act[])
    },
    placeholderData: (before) => before,
  })
  const shown = data.filter(({ kind }) => kind === "edit").slice(0, mostShown)
  if (shown.length === 0) return null
  return (
    <ul className="chat-acts" aria-label="Who changed the state">
      {shown.toReversed().map(({ acted_at, person, changed }) => (
        <li key={acted_at}>
          <strong title={person.email}>{person.name}</strong> changed{" "}
          {changed && changed.length > 0 ? changed.join(", ") : "the state"} <Ago at={acted_at} />
        </li>
      ))}
    </ul>
  )
}
