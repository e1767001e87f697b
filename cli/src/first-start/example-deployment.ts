/** Deploys the example once in the life of an installation. If it is deleted, it is not deployed again. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { pause } from "@superstep/toolkit/exec/pause"
import { writeWhole } from "@superstep/toolkit/files/whole-file"
import type { Home } from "../home/home.js"
import type { Target } from "../output/try-it.js"
import type { PlatformApi } from "../platform/api.js"
import { type Deployment, orNone } from "../platform/deployments.js"
import { untilAnswers } from "../processes/until-answers.js"
import { ensureExampleRepository, exampleName } from "./example-repository.js"

const markerFile = (home: Home): string => join(home.folder, "example.json")

export interface Example {
  readonly deployment: Deployment
  /** Whether this start created it. */
  readonly isNew: boolean
}

/** @returns  undefined when it has been deleted */
export async function ensureExample({
  home,
  api,
  searchPath,
}: {
  home: Home
  api: PlatformApi
  searchPath: string
}): Promise<Example | undefined> {
  const deployed = await readMarker(home)
  if (deployed) {
    const deployment = await orNone(api.send<Deployment>("GET", `/v2/deployments/${deployed}`))
    return deployment && { deployment, isNew: false }
  }
  const repoUrl = await ensureExampleRepository(home, searchPath)
  // With the idempotency key, a second attempt after a kill finds the deployment of the first.
  const deployment = await api.send<Deployment>("POST", "/v2/deployments", {
    body: exampleRequest(repoUrl),
    headers: { "idempotency-key": "first-start-example" },
  })
  await writeWhole(markerFile(home), `${JSON.stringify({ deployment_id: deployment.id })}\n`)
  return { deployment, isNew: true }
}

const exampleRequest = (repoUrl: string) => ({
  name: exampleName,
  source: "github",
  source_config: { integration_id: null, repo_url: repoUrl, deployment_type: "dev", build_on_push: false },
  source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
  secrets: [],
})

async function readMarker(home: Home): Promise<string | undefined> {
  try {
    return (JSON.parse(await readFile(markerFile(home), "utf8")) as { deployment_id: string }).deployment_id
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
}

// A unit is up in seconds; one that is not up by now keeps crashing, while the rest of the installation is fine.
const agentMs = 60_000

/** A unit that was stopped with the installation is restarted with it, which takes longer than the control plane's start. */
export async function untilAgentAnswers(
  { url, apiKey }: Pick<Target, "url" | "apiKey">,
  stopped: Promise<unknown>,
): Promise<boolean> {
  const question = { headers: { "x-api-key": apiKey ?? "" } }
  const tooLong = new AbortController()
  const gaveUp = Promise.race([stopped, pause(agentMs, tooLong.signal)])
  try {
    // The edge answers /ok for an agent that sleeps, so /info wakes it first.
    if (!(await untilAnswers({ ...question, url: `${url}/info` }, gaveUp))) return false
    return await untilAnswers({ ...question, url: `${url}/ok` }, gaveUp)
  } finally {
    tooLong.abort()
  }
}
