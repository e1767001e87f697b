/** What the processes of a deployment write: by level, text, time, revision and run. */

import { useQuery, useSuspenseQuery } from "@tanstack/react-query"
import { useParams } from "@tanstack/react-router"
import { shortId, titleOf } from "../deployments/status.js"
import { Switch } from "../forms/switch.js"
import { Button } from "../frame/button.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty } from "../frame/empty.js"
import { Page } from "../frame/page.js"
import { useSearchState } from "../frame/search.js"
import { DeploymentPath } from "../platform/deployment-path.js"
import { deploymentQuery, revisionsQuery } from "../platform/queries.js"
import { usePlatform } from "../platform/use-platform.js"
import { addressOf, levels, searchOf } from "./filter.js"
import { LiveLog } from "./live-log.js"
import { PastLog } from "./past-log.js"

const tail = 1000

export function RuntimeLogPage() {
  const { deploymentId = "" } = useParams({ strict: false })
  const platform = usePlatform()
  const { data: deployment } = useSuspenseQuery(deploymentQuery(platform, deploymentId))
  const { data: revisions } = useQuery(revisionsQuery(platform, deploymentId))
  const [search, change] = useSearchState(searchOf)
  const { path, query, curlPath } = addressOf(deploymentId, search)
  const isFiltered = [search.level, search.revision, search.run, search.from, search.q || undefined].some(
    (one) => one !== undefined,
  )
  const filters = (
    <>
      <select
        aria-label="Level"
        value={search.level ?? ""}
        onChange={({ target }) => change({ level: (target.value || undefined) as (typeof levels)[number] | undefined })}
      >
        <option value="">All levels</option>
        {levels.map((level) => (
          <option key={level} value={level}>
            {level.toLowerCase()}
          </option>
        ))}
      </select>
      <select
        aria-label="Revision"
        value={search.revision ?? ""}
        onChange={({ target }) => change({ revision: target.value || undefined })}
      >
        <option value="">All revisions</option>
        {search.revision && !revisions?.resources.some(({ id }) => id === search.revision) && (
          <option value={search.revision}>{shortId(search.revision)}</option>
        )}
        {revisions?.resources.map((revision) => (
          <option key={revision.id} value={revision.id}>
            {shortId(revision.id)} {titleOf(revision)?.slice(0, 40)}
          </option>
        ))}
      </select>
      <label className="log-from">
        From
        <input
          type="datetime-local"
          aria-label="From this time"
          value={search.from ?? ""}
          onChange={({ target }) => change({ from: target.value || undefined })}
        />
      </label>
      <Switch
        isSelected={search.platform === "shown"}
        onChange={(isShown) => change({ platform: isShown ? "shown" : undefined })}
      >
        Platform lines
      </Switch>
      {search.run !== undefined && (
        <Button look="quiet" onPress={() => change({ run: undefined })} tip="Shows the lines of all runs">
          Run {shortId(search.run)} ✕
        </Button>
      )}
    </>
  )
  const view = {
    deploymentId,
    onRun: (run: string) => change({ run }),
    label: `Log of ${deployment.name}`,
    search: search.q,
    onSearch: (q: string | undefined) => change({ q }),
    filters,
    empty: (
      <Empty title={isFiltered ? "No line matches" : "No lines yet"}>
        {query === "type=deploy"
          ? "The processes of this deployment have written nothing yet."
          : search.platform === "shown"
            ? "Choose another text, level, revision or time."
            : "What Superstep itself writes is hidden, except for warnings and errors: “Platform lines” shows it."}
      </Empty>
    ),
  }
  return (
    <Page
      title="Logs"
      isWide
      above={<DeploymentPath {...deployment} />}
      actions={<CurlButton requests={[{ method: "GET", url: curlPath, workspaceId: platform.workspaceId }]} />}
    >
      {search.from === undefined ? (
        <LiveLog address={{ path, query, tail }} view={view} />
      ) : (
        <PastLog path={curlPath} view={view} />
      )}
    </Page>
  )
}
