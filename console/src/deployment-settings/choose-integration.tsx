/** Which credentials a deployment uses for its repository. */
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import type { Deployment, PageOf } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import type { useChange } from "./use-change.js"

interface Integration {
  readonly id: string
  readonly name: string
  readonly host: string
}

export function ChooseIntegration({
  deployment,
  changing,
}: {
  deployment: Deployment
  changing: ReturnType<typeof useChange>
}) {
  const { call, workspaceId, mayWrite } = usePlatform()
  const { data } = useQuery({
    queryKey: ["integrations", workspaceId],
    queryFn: ({ signal }) => call<PageOf<Integration>>("/v2/integrations/git", { signal }),
  })
  const present = deployment.source_config.integration_id
  return (
    <div className="settings-choice">
      <label htmlFor="integration">Credentials for the repository</label>
      <select
        id="integration"
        value={present ?? ""}
        disabled={!mayWrite || changing.isPending}
        onChange={({ target }) => changing.mutate({ source_config: { integration_id: target.value } })}
      >
        {present === null && <option value="">none: the repository is public</option>}
        {data?.resources.map(({ id, name, host }) => (
          <option key={id} value={id}>
            {name} ({host})
          </option>
        ))}
      </select>
      <p className="field-help">
        With an integration a webhook deploys each push at once; without one the branch is only polled. They are created
        in the <Link to="/settings">settings of the workspace</Link>.
      </p>
    </div>
  )
}
