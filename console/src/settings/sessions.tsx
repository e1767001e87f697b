/** Where the person is signed in; for an admin, where everybody of the workspace is. */
import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query"
import { Removal } from "../frame/dialog.js"
import { Empty } from "../frame/empty.js"
import { Section } from "../frame/section.js"
import { Ago } from "../frame/time.js"
import { paths } from "../platform/paths.js"
import { readList } from "../platform/queries.js"
import type { Person } from "../platform/session.js"
import { usePlatform } from "../platform/use-platform.js"
import { useSignedOut } from "../platform/use-signed-out.js"
import { refreshMs } from "../requests/query-client.js"
import { requestPath } from "../requests/request-path.js"
import { actionsHead, Table } from "../tables/table.js"
import { browserOf } from "./browser.js"

interface ListedSession {
  readonly id: string
  readonly person: Person | null
  readonly key_prefix: string | null
  readonly created_at: string
  readonly last_used_at: string
  readonly ip: string | null
  readonly user_agent: string | null
}

export function Sessions() {
  const { call, session, workspaceId } = usePlatform()
  const queryClient = useQueryClient()
  const signedOut = useSignedOut()
  const queryKey = ["sessions", workspaceId]
  const { data } = useSuspenseQuery({
    queryKey,
    queryFn: ({ signal }) => readList<ListedSession>({ call }, paths.sessions, ({ id }) => id, signal),
    refetchInterval: refreshMs,
  })
  const end = async (id: string) => {
    await call(requestPath`/v2/console/sessions/${id}`, { method: "DELETE" })
    if (id !== session.session_id) return queryClient.invalidateQueries({ queryKey })
    await signedOut()
  }
  return (
    <Section title="Sessions" about="A session ends after 12 hours without use, and after 7 days.">
      <Table
        label="Sessions"
        heads={["Who", "Browser", "Signed in", "Last used", actionsHead]}
        empty={
          <Empty title="No sessions in this workspace">
            Each session of its people and keys is listed here.
            {session.is_operator && " Your own session belongs to a key of the installation."}
          </Empty>
        }
      >
        {data.resources.map(({ id, person, key_prefix, created_at, last_used_at, ip, user_agent }) => (
          <tr key={id}>
            <td>{person ? <span title={person.email}>{person.name}</span> : <code>{key_prefix}…</code>}</td>
            <td>
              <span title={user_agent ?? undefined}>{browserOf(user_agent)}</span>{" "}
              <span className="soft">{ip ?? ""}</span>
              {id === session.session_id && <span className="faint"> this one</span>}
            </td>
            <td>
              <Ago at={created_at} />
            </td>
            <td>
              <Ago at={last_used_at} />
            </td>
            <td className="right">
              <Removal
                title={`End the session of ${person?.name ?? `${key_prefix}…`} in ${browserOf(user_agent)}?`}
                word="End"
                act={() => end(id)}
              >
                That browser is signed out at once, in all workspaces.
              </Removal>
            </td>
          </tr>
        ))}
      </Table>
    </Section>
  )
}
