/** Creates deployments by the same requests as `superstep deploy`. */
import { paths } from "../platform/paths.js"
import type { Deployment } from "../platform/types.js"
import type { Platform } from "../platform/use-platform.js"
import { gzip, tarOf } from "./archive.js"

export interface Repository {
  readonly name: string
  readonly repoUrl: string
  readonly ref: string
  readonly configPath: string
  /** Of the integration whose credentials it uses; null if the repository is public. */
  readonly integrationId: string | null
}

export const repositoryRequest = ({ name, repoUrl, ref, configPath, integrationId }: Repository) => ({
  name,
  source: "github",
  source_config: { integration_id: integrationId, repo_url: repoUrl, deployment_type: "dev", build_on_push: false },
  source_revision_config: { repo_ref: ref, langgraph_config_path: configPath },
  secrets: [],
})

export const deployRepository = ({ call }: Pick<Platform, "call">, repository: Repository): Promise<Deployment> =>
  call(paths.deployments, { method: "POST", body: repositoryRequest(repository) })

/** Deploys the example that comes with the console: creates a deployment, uploads the files, and asks for a revision. */
export async function deployExample({ call }: Pick<Platform, "call">): Promise<Deployment> {
  const { default: files } = await import("virtual:example-files")
  const { id } = await call<Deployment>(paths.deployments, {
    method: "POST",
    body: {
      name: "chat",
      source: "internal_source",
      source_config: { deployment_type: "dev" },
      source_revision_config: {},
      secrets: [],
    },
  })
  const place = await call<{ upload_url: string; object_path: string }>(`${paths.deployment(id)}/upload-url`, {
    method: "POST",
    body: {},
  })
  // The platform may have another public address; the page may only talk to its own.
  const { pathname, search } = new URL(place.upload_url)
  const upload = await fetch(pathname + search, {
    method: "PUT",
    body: await gzip(tarOf(files)),
    headers: { "content-type": "application/gzip" },
  })
  if (!upload.ok) throw new Error(`The upload of the example failed: ${await upload.text()}`)
  return call(paths.deployment(id), {
    method: "PATCH",
    body: {
      revision_source: "internal_source",
      source_revision_config: { source_tarball_path: place.object_path, langgraph_config_path: "langgraph.json" },
    },
  })
}
