/** What several pages read of the control plane, with one key each, so that they share what was read. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query"
import { everyMs, refreshMs } from "../requests/query-client.js"
import { readToEnd } from "../requests/read-to-end.js"
import { mostInPage, pagePath, paths, revisionsInPage } from "./paths.js"
import type { Deployment, Integration, Member, Metrics, PageOf, Revision } from "./types.js"
import type { Platform } from "./use-platform.js"

type Reader = Pick<Platform, "call" | "workspaceId">

// Of what changes seldom, and of each line of a list.
const seldomMs = 15_000
/** Two requests for each line. */
const lineMs = (lines: number): number => everyMs(2 * lines, seldomMs)

/** A whole list of the control plane, a page after the other. */
export async function readList<Item>(
  { call }: Pick<Reader, "call">,
  list: string,
  idOf: (item: Item) => string,
  signal: AbortSignal,
): Promise<{ readonly resources: readonly Item[] }> {
  const read = async (offset: number) => (await call<PageOf<Item>>(pagePath(list, offset), { signal })).resources
  return { resources: await readToEnd({ pageSize: mostInPage, idOf, read }) }
}

export const deploymentsQuery = ({ call, workspaceId }: Reader) =>
  queryOptions({
    queryKey: ["deployments", workspaceId],
    queryFn: ({ signal }) => readList<Deployment>({ call }, paths.deployments, ({ id }) => id, signal),
    refetchInterval: refreshMs,
  })

export const membersQuery = ({ call, workspaceId }: Reader) =>
  queryOptions({
    queryKey: ["members", workspaceId],
    queryFn: ({ signal }) => readList<Member>({ call }, paths.members, ({ person_id }) => person_id, signal),
    staleTime: seldomMs,
  })

export const integrationsQuery = ({ call, workspaceId }: Reader) =>
  queryOptions({
    queryKey: ["integrations", workspaceId],
    queryFn: ({ signal }) => readList<Integration>({ call }, paths.integrations, ({ id }) => id, signal),
  })

export const deploymentQuery = ({ call }: Reader, id: string) =>
  queryOptions({
    queryKey: ["deployment", id],
    queryFn: ({ signal }) => call<Deployment>(paths.deployment(id), { signal }),
    refetchInterval: refreshMs,
  })

/**
 * The revisions of a deployment, the newest first.
 * @param pages  how many pages of them
 */
export const revisionsQuery = ({ call }: Reader, id: string, pages = 1) =>
  queryOptions({
    queryKey: ["revisions", id, pages],
    queryFn: async ({ signal }) => {
      const pageSize = revisionsInPage
      const resources = await readToEnd<Revision>({
        pageSize,
        mostPages: pages,
        idOf: (revision) => revision.id,
        read: async (offset) =>
          (await call<PageOf<Revision>>(paths.revisions(id, pageSize, offset), { signal })).resources,
      })
      return { resources, mayHaveOlder: resources.length >= pageSize * pages }
    },
    refetchInterval: refreshMs,
  })

/** For each of so many lines of a list: read again at once when the list shows another state, and soon while the newest one is on its way. */
export const newestRevisionsQuery = ({ call }: Reader, deployment: Deployment, lines: number) => {
  const { id, latest_revision_id, active_revision_id, health } = deployment
  return queryOptions({
    queryKey: ["newest-revisions", id, latest_revision_id, active_revision_id, health],
    queryFn: ({ signal }) => call<PageOf<Revision>>(paths.revisions(id, 5), { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => {
      const [newest] = state.data?.resources ?? []
      return newest && !isFinal(newest.status) ? refreshMs : lineMs(lines)
    },
  })
}

export const revisionQuery = ({ call }: Reader, id: string, revisionId: string) =>
  queryOptions({
    queryKey: ["revision", id, revisionId],
    queryFn: ({ signal }) => call<Revision>(paths.revision(id, revisionId), { signal }),
    refetchInterval: (query) => (query.state.data && isFinal(query.state.data.status) ? false : 1000),
  })

/**
 * @param window  such as `24h`
 * @param lines   how many a page shows
 */
export const metricsQuery = ({ call }: Reader, id: string, window = "1h", lines = 1) =>
  queryOptions({
    queryKey: ["metrics", id, window],
    queryFn: ({ signal }) => call<Metrics>(paths.metrics(id, window), { signal }),
    refetchInterval: lineMs(lines),
  })

/** Whether the pipeline has finished with a revision. */
export const isFinal = (status: string): boolean => /_FAILED$|^(DEPLOYED|SKIPPED|INTERRUPTED)$/.test(status)
