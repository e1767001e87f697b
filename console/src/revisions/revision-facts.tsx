/** Where the code of a revision is from, and why it was made: one line. */
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { shortId, triggerText } from "../deployments/status.js"
import { Ago } from "../frame/time.js"
import { durationText, sizeText } from "../frame/time-text.js"
import { membersQuery } from "../platform/queries.js"
import type { Revision } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import { isNewUpload, shortHash } from "./compare.js"

/** @param before  the one before it, where that is known: whether the code was uploaded with this one follows from it */
export function RevisionFacts({ revision, before }: { revision: Revision; before?: Revision | undefined }) {
  const { commit, upload, repeats_revision_id: repeated, deployment_id: deploymentId, message } = revision
  return (
    <p className="timeline-facts note">
      {commit && (
        <>
          <code>{commit.sha.slice(0, 7)}</code>
          {commit.branch && ` ${commit.branch}`}
          {commit.is_dirty && " with changes"} {commit.author} ·{" "}
          {message && commit.message && <>“{commit.message}” · </>}
        </>
      )}
      {upload && (
        <>
          <code title="The SHA-256 of the archive, its start">{shortHash(upload.sha256)}</code>{" "}
          {sizeText(upload.size_bytes)} ·{" "}
        </>
      )}
      {triggerText(revision.trigger, isNewUpload(revision, before))}{" "}
      {repeated && (
        <>
          <Link to={`/deployments/${deploymentId}/revisions/${repeated}`} className="text-link">
            <code>{shortId(repeated)}</code>
          </Link>{" "}
        </>
      )}
      <Ago at={revision.created_at} />
      <Actor actor={revision.actor} />
      <Took revision={revision} />
      {revision.traffic && <> · {revision.traffic.weight}% of the threads</>}
      {revision.pinned_threads > 0 && <> · {pinned(revision.pinned_threads)}</>}
      {revision.orphaned_threads ? <> · {revision.orphaned_threads} threads could not continue on it</> : null}
    </p>
  )
}

/** The person who requested it, while they are a member. */
function Actor({ actor }: { actor: string | null }) {
  const platform = usePlatform()
  const { data } = useQuery(membersQuery(platform))
  const id = actor?.startsWith("person:") ? actor.slice("person:".length) : undefined
  const member = data?.resources.find(({ person_id }) => person_id === id)
  if (id === undefined || data === undefined) return null
  return <> by {member ? <span title={member.email}>{member.name}</span> : "a former member"}</>
}

const pinned = (count: number) => `${count} pinned ${count === 1 ? "thread" : "threads"}`

function Took({ revision: { started_at, finished_at } }: { revision: Revision }) {
  if (!started_at || !finished_at) return null
  return <> · took {durationText(Date.parse(finished_at) - Date.parse(started_at))}</>
}
