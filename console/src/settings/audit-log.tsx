/** Who changed what, newest first, with a chain of hashes that shows later changes of the log itself. */
import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { shortId } from "../deployments/status.js"
import { Button } from "../frame/button.js"
import { Empty, Loading } from "../frame/empty.js"
import { Problem } from "../frame/problem.js"
import { type RawSearch, textIn, useSearchState } from "../frame/search.js"
import { Section } from "../frame/section.js"
import { Ago } from "../frame/time.js"
import { deploymentsQuery } from "../platform/queries.js"
import { usePlatform } from "../platform/use-platform.js"
import { refreshMs } from "../requests/query-client.js"
import { Table } from "../tables/table.js"

interface AuditEntry {
  readonly id: string
  readonly seq: number
  readonly at: string
  readonly actor: string
  readonly actor_name: string | null
  readonly key_prefix: string | null
  readonly resource_name: string | null
  readonly changed: readonly string[] | null
  readonly ip: string | null
  readonly action: string
  readonly path: string
}

interface AuditPage {
  readonly resources: readonly AuditEntry[]
  readonly next_cursor: string | null
}

interface Verification {
  readonly valid: boolean
  readonly entries: number
  readonly broken_seq: number | null
}

const searchOf = (raw: RawSearch) => ({ resource: textIn(raw, "resource") })

export function AuditLog() {
  const { call, workspaceId } = usePlatform()
  const [{ resource }, change] = useSearchState(searchOf)
  const filter = resource === undefined ? "" : `&resource_id=${encodeURIComponent(resource)}`
  const { data, error, isPending, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["audit-log", workspaceId, resource],
    queryFn: ({ pageParam, signal }) =>
      call<AuditPage>(
        `/v2/audit-log?limit=20${filter}${pageParam === null ? "" : `&cursor=${encodeURIComponent(pageParam)}`}`,
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
    // Each page that is shown would be read again: with older ones the list stays as it is.
    refetchInterval: ({ state }) => (state.data === undefined || state.data.pages.length === 1) && refreshMs,
  })
  const entries = data?.pages.flatMap(({ resources }) => resources) ?? []
  return (
    <Section
      title="Audit log"
      about="Every change by the API. Each entry holds the hash of the one before, so a removed or changed one shows."
      actions={<Verify />}
    >
      {resource !== undefined && (
        <p className="notice">
          Only entries about <code>{resource}</code>.{" "}
          <Button look="quiet" onPress={() => change({ resource: undefined })}>
            Show all
          </Button>
        </p>
      )}
      {error && <Problem error={error} />}
      <Table
        label="Audit log"
        heads={["Time", "Who", "Action", "From"]}
        empty={isPending ? <Loading /> : <Empty title="Nothing was changed yet" />}
      >
        {entries.map(({ id, at, actor_name, key_prefix, actor, action, path, ip, resource_name, changed }) => (
          <tr key={id}>
            <td>
              <Ago at={at} />
            </td>
            <td>
              {actor_name ? (
                <span title={actor}>{actor_name}</span>
              ) : (
                <code>{key_prefix ? `${key_prefix}…` : actor}</code>
              )}
            </td>
            <td title={path}>
              <code>{action}</code> <Subject path={path} name={resource_name} />
              {changed && changed.length > 0 && <span className="soft"> · {changed.join(", ")}</span>}
            </td>
            <td className="soft">{ip ?? ""}</td>
          </tr>
        ))}
      </Table>
      {hasNextPage && (
        <p className="settings-more">
          <Button onPress={() => void fetchNextPage()} isPending={isFetchingNextPage}>
            Show older entries
          </Button>
        </p>
      )}
    </Section>
  )
}

/** The deployment that an entry is about: by its name while it is there. */
function Subject({ path, name }: { path: string; name: string | null }) {
  const platform = usePlatform()
  const { data } = useQuery(deploymentsQuery(platform))
  const [, id] = /\/deployments\/([0-9a-f-]{36})/.exec(path) ?? []
  if (id === undefined) return name === null ? null : <span>{name}</span>
  const known = data?.resources.find((deployment) => deployment.id === id)
  if (!known) return <span className="soft">{name ?? shortId(id)}</span>
  return (
    <Link to={`/deployments/${id}`} className="text-link">
      {known.name}
    </Link>
  )
}

function Verify() {
  const { call } = usePlatform()
  const { data, mutate, isPending, error } = useMutation({
    mutationFn: () => call<Verification>("/v2/audit-log/verification"),
  })
  return (
    <span className="note" role="status">
      {error?.message}
      {data?.valid === true && `All ${data.entries} entries are unchanged. `}
      {data?.valid === false && `Entry ${data.broken_seq} was changed, or the one before it was removed. `}
      <Button onPress={() => mutate()} isPending={isPending}>
        Verify the chain
      </Button>
    </span>
  )
}
