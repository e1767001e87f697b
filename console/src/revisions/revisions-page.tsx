/** The revisions of a deployment as a timeline. */

import { useSuspenseQuery } from "@tanstack/react-query"
import { useParams } from "@tanstack/react-router"
import { useState, useTransition } from "react"
import { Button } from "../frame/button.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty } from "../frame/empty.js"
import { ArrowLeftRight } from "../frame/icons.js"
import { Page } from "../frame/page.js"
import { type RawSearch, textIn, useSearchState } from "../frame/search.js"
import { DeploymentPath } from "../platform/deployment-path.js"
import { paths } from "../platform/paths.js"
import { deploymentQuery, revisionsQuery } from "../platform/queries.js"
import { usePlatform } from "../platform/use-platform.js"
import { Comparison } from "./comparison.js"
import { DeploymentActions } from "./deployment-actions.js"
import { RevisionItem } from "./revision-item.js"

/** `compare=<id>,<id>`: the two chosen revisions. */
const searchOf = (raw: RawSearch) => ({ compare: (textIn(raw, "compare") ?? "").split(",").filter((id) => id !== "") })

export function RevisionsPage() {
  const { deploymentId = "" } = useParams({ strict: false })
  const platform = usePlatform()
  const { workspaceId } = platform
  const [pages, setPages] = useState(1)
  const [isReadingOlder, startReading] = useTransition()
  const { data: deployment } = useSuspenseQuery(deploymentQuery(platform, deploymentId))
  const { data } = useSuspenseQuery(revisionsQuery(platform, deploymentId, pages))
  const [{ compare }, change] = useSearchState(searchOf)
  const revisions = data.resources
  const choose = (id: string, isChosen: boolean) => {
    const ids = isChosen ? [...compare, id].slice(-2) : compare.filter((it) => it !== id)
    change({ compare: (ids.length > 0 ? ids.join(",") : undefined) as never })
  }
  const chosen = compare.flatMap((id) => revisions.find((it) => it.id === id) ?? [])
  return (
    <Page
      title="Revisions"
      above={<DeploymentPath {...deployment} />}
      actions={
        <>
          <CurlButton
            requests={[
              { method: "GET", url: paths.deployment(deploymentId), workspaceId },
              { method: "GET", url: paths.revisions(deploymentId), workspaceId },
            ]}
          />
          <DeploymentActions deployment={deployment} />
        </>
      }
    >
      {chosen.length === 1 && (
        <p className="notice" role="status">
          <ArrowLeftRight size={14} aria-hidden /> Choose a second revision to compare.
        </p>
      )}
      {chosen.length === 2 && (
        <Comparison
          revisions={chosen}
          order={revisions.map(({ id }) => id)}
          close={() => change({ compare: undefined })}
        />
      )}
      <section className="section">
        {revisions.length === 0 && (
          <Empty title="There is no revision yet">The first one starts when its source is there.</Empty>
        )}
        <ol className="timeline card">
          {revisions.map((revision, position) => (
            <RevisionItem
              key={revision.id}
              revision={revision}
              deployment={deployment}
              before={revisions[position + 1]}
              isOpen={position === 0}
              choice={{
                isChosen: compare.includes(revision.id),
                onChoose: (isChosen) => choose(revision.id, isChosen),
              }}
            />
          ))}
        </ol>
        {data.mayHaveOlder && (
          <p className="timeline-more">
            <Button isPending={isReadingOlder} onPress={() => startReading(() => setPages(pages + 1))}>
              Show older revisions
            </Button>
          </p>
        )}
      </section>
    </Page>
  )
}
