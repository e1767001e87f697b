/** A deployment of graphs of `tests/graphs` for pages and adapters. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { type Deployment, deploy } from "../testing/deployments.js"
import type { Platform } from "../testing/installation.js"
import { createRepository } from "../testing/repository.js"
import type { ServerAddress } from "./chat-page.js"

const folder = new URL("../../graphs/src/", import.meta.url)

export interface DeployedGraphs extends ServerAddress {
  readonly deployment: Deployment
}

/** @param graphs  names of files in `tests/graphs/src`, each of which exports `graph` */
export async function deployGraphs(
  platform: Platform,
  name: string,
  graphs: readonly string[],
): Promise<DeployedGraphs> {
  const repository = await createRepository()
  const project = {
    node_version: "20",
    graphs: Object.fromEntries(graphs.map((graph) => [graph, `./src/${graph}.ts:graph`])),
    http: { cors: { allow_origins: ["*"] } },
    env: {},
  }
  const sources = graphs.map((graph) => [
    `src/${graph}.ts`,
    readFileSync(fileURLToPath(new URL(`${graph}.ts`, folder)), "utf8"),
  ])
  await repository.push({ "langgraph.json": JSON.stringify(project), ...Object.fromEntries(sources) })
  const deployment = await deploy(platform, name, repository.url)
  return {
    deployment,
    url: deployment.source_config.custom_url,
    headers: { "x-api-key": platform.credentials.api_key },
  }
}
