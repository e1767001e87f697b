/** The settings of one deployment. */

import { useSuspenseQuery } from "@tanstack/react-query"
import { useParams } from "@tanstack/react-router"
import { CurlButton } from "../frame/curl-button.js"
import { Page } from "../frame/page.js"
import { DeploymentPath } from "../platform/deployment-path.js"
import { paths } from "../platform/paths.js"
import { deploymentQuery } from "../platform/queries.js"
import { usePlatform } from "../platform/use-platform.js"
import { DeleteDeployment } from "./delete-deployment.js"
import { PushToDeploy } from "./push-to-deploy.js"
import { Resources } from "./resources.js"
import { Secrets } from "./secrets.js"

export function DeploymentSettingsPage() {
  const { deploymentId = "" } = useParams({ strict: false })
  const platform = usePlatform()
  const { workspaceId } = platform
  const { data: deployment } = useSuspenseQuery(deploymentQuery(platform, deploymentId))
  return (
    <Page
      title="Settings"
      above={<DeploymentPath {...deployment} />}
      actions={
        <CurlButton
          requests={[
            { method: "GET", url: paths.deployment(deploymentId), workspaceId },
            { method: "GET", url: `${paths.deployment(deploymentId)}/secrets`, workspaceId },
          ]}
        />
      }
    >
      <Secrets deployment={deployment} />
      <Resources deployment={deployment} />
      <PushToDeploy deployment={deployment} />
      <DeleteDeployment deployment={deployment} />
    </Page>
  )
}
