/** Deploys the example once in the life of an installation. Who deletes it does not get it back. */
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { Home } from "../home/home.js"
import type { Target } from "../output/try-it.js"
import { untilAnswers } from "../processes/until-answers.js"
import type { ControlApi, Deployment, Revision } from "./control-api.js"
import { ensureExampleRepository, exampleName } from "./example-repository.js"

const pollMs = 100

const markerFile = (home: Home): string => join(home.folder, "example.json")

/** @returns the example's deployment; undefined when it was deleted since */
export async function ensureExample({
  home,
  api,
  searchPath,
}: {
  home: Home
  api: ControlApi
  searchPath: string
}): Promise<Deployment | undefined> {
  const deployed = await readMarker(home)
  if (deployed) return api.findDeployment(deployed)
  const repoUrl = await ensureExampleRepository(home, searchPath)
  // The key makes a second attempt after a kill find the deployment of the first.
  const deployment = await api.createDeployment(exampleRequest(repoUrl), "first-start-example")
  await writeFile(markerFile(home), `${JSON.stringify({ deployment_id: deployment.id })}\n`, { flush: true })
  return deployment
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

// A unit is up in seconds; one that is not by now keeps crashing, and the rest of the installation is fine.
const agentMs = 60_000

/** A unit that was stopped with the installation is started again with it, which takes longer than the control plane. */
export async function untilAgentAnswers({ url, apiKey }: Target, stopped: Promise<unknown>): Promise<boolean> {
  const question = { url: `${url}/info`, headers: { "x-api-key": apiKey ?? "" } }
  const tooLong = new AbortController()
  const gaveUp = Promise.race([stopped, sleep(agentMs, undefined, { signal: tooLong.signal }).catch(() => undefined)])
  try {
    if (!(await untilAnswers(question, gaveUp))) return false
    return await untilAnswers({ ...question, url: `${url}/docs`, isReady: ({ status }) => status < 500 }, gaveUp)
  } finally {
    tooLong.abort()
  }
}

/** Statuses after which nothing more happens to a revision (control-plane §1.5). */
const isFinal = (status: string): boolean => /^(DEPLOYED|SKIPPED|INTERRUPTED)$|FAILED/.test(status)

/**
 * Follows the latest revision to its end.
 * @param onStatus  told each new status, the first one too
 * @returns         the revision as it ended; undefined when the signal came first or there is none
 */
export async function followRevision(
  api: ControlApi,
  deployment: Deployment,
  { signal, onStatus }: { signal: AbortSignal; onStatus: (revision: Revision) => void },
): Promise<Revision | undefined> {
  if (deployment.latest_revision_id === null) return undefined
  for (let seen: string | undefined; !signal.aborted; await sleep(pollMs)) {
    const revision = await api.readRevision(deployment.id, deployment.latest_revision_id)
    if (revision.status !== seen) onStatus(revision)
    seen = revision.status
    if (isFinal(revision.status)) return revision
  }
  return undefined
}
