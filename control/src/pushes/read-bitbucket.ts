/**
 * Parses deliveries of Bitbucket Cloud. One may report several refs; it names no files, and shortens the commits of pull
 * requests.
 * @see https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/
 */
import { z } from "zod"
import { addresses, fullSha, fullShaOrNone, parsePayload, text } from "./payload.js"
import type { GitEvent, PullRequestEvent, Push } from "./push.js"

const repository = z.object({ full_name: z.string(), links: z.object({ html: z.object({ href: text }) }).nullish() })

const target = z.object({ hash: z.string(), message: z.string().nullish() })
const end = z.object({ type: z.string(), name: z.string(), target }).nullish()
const pushPayload = z.object({
  push: z.object({
    changes: z.array(
      z.object({
        new: end,
        old: end,
        commits: z.array(z.object({ hash: z.string() })).nullish(),
      }),
    ),
  }),
  repository,
})

const side = z.object({
  branch: z.object({ name: z.string() }),
  commit: z.object({ hash: z.string() }).nullish(),
  repository: z.object({ full_name: z.string() }).nullish(),
})
const pullPayload = z.object({
  pullrequest: z.object({
    id: z.int().positive().max(2_147_483_647),
    title: z.string(),
    source: side,
    destination: side,
  }),
  repository,
})

const pullActions: ReadonlyMap<string, PullRequestEvent["action"]> = new Map([
  ["pullrequest:created", "changed"],
  ["pullrequest:updated", "changed"],
  ["pullrequest:fulfilled", "closed"],
  ["pullrequest:rejected", "closed"],
])

/** @param event  the header `X-Event-Key` @throws ZodError */
export function readBitbucket(event: string, payload: unknown): GitEvent[] {
  if (event === "repo:push") return pushesOf(parsePayload(pushPayload, payload))
  const action = pullActions.get(event)
  return [action ? pullOf(action, parsePayload(pullPayload, payload)) : { kind: "other", what: event }]
}

const addressesOf = (it: z.output<typeof repository>): string[] =>
  // The address of the page is also the clone address; without it, the name is enough.
  addresses([it.links?.html.href, `https://bitbucket.org/${it.full_name}`])

function pushesOf(it: z.output<typeof pushPayload>): Push[] {
  return it.push.changes.flatMap((change): Push[] => {
    const { new: now, old } = change
    const named = now ?? old
    if (!named) return []
    const folder = named.type === "branch" || named.type === "named_branch" ? "refs/heads" : "refs/tags"
    return [
      {
        kind: "push",
        repositories: addressesOf(it.repository),
        ref: `${folder}/${named.name}`,
        after: now ? fullSha(now.target.hash) : null,
        isCreated: !old,
        commits: change.commits?.length,
        message: now?.target.message ?? "",
        changedPaths: undefined,
      },
    ]
  })
}

function pullOf(action: PullRequestEvent["action"], it: z.output<typeof pullPayload>): PullRequestEvent {
  const { id: number, title, source, destination } = it.pullrequest
  const base = destination.repository?.full_name
  const isFork = !base || source.repository?.full_name !== base
  return {
    kind: "pull_request",
    repositories: addressesOf(it.repository),
    number,
    title,
    action,
    labels: [],
    areLabelsAll: false,
    baseBranch: destination.branch.name,
    // Bitbucket keeps a fork's commits only in the fork.
    headRef: isFork ? undefined : `refs/heads/${source.branch.name}`,
    headSha: source.commit ? fullShaOrNone(source.commit.hash) : undefined,
    isFork,
  }
}
