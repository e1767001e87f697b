/** All deployments of the workspace. */
import { useSuspenseQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { CurlButton } from "../frame/curl-button.js"
import { Empty } from "../frame/empty.js"
import { Page } from "../frame/page.js"
import { usePlatform } from "../platform/use-platform.js"

interface Deployments {
  readonly resources: readonly { readonly id: string; readonly name: string; readonly status: string }[]
}

export function DeploymentsPage() {
  const { call, workspaceId } = usePlatform()
  const path = "/v2/deployments"
  const { data } = useSuspenseQuery({
    queryKey: ["deployments", workspaceId],
    queryFn: ({ signal }) => call<Deployments>(path, { signal }),
  })
  return (
    <Page title="Deployments" actions={<CurlButton requests={[{ method: "GET", url: path, workspaceId }]} />}>
      {data.resources.length === 0 && (
        <Empty title="Nothing is deployed yet">Run superstep deploy in the folder of an agent.</Empty>
      )}
      <ul>
        {data.resources.map(({ id, name, status }) => (
          <li key={id}>
            <Link to={`/deployments/${id}`}>{name}</Link> {status}
          </li>
        ))}
      </ul>
    </Page>
  )
}
