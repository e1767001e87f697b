/**
 * What the walk may press to pieces: a platform with two agents and one or more of everything that can be paused, removed, revoked, rolled
 * back or deleted. It is furnished again while the walk goes on. One agent and the keys of this process stay.
 */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { untilDeployed } from "../../testing/deployments.js"
import type { Platform } from "../../testing/installation.js"
import { type DeployedDesk, deployDesk, deskRepository } from "../deployed-desk.js"
import { ask, askForRefund } from "../desk.js"
import { everyPage } from "../every-page.js"
import type { Choice } from "./choices.js"

export interface Furnishing extends AsyncDisposable {
  /** The addresses of what is there, below the start of the console. */
  pages(): readonly string[]
  /** Puts back what is gone. */
  restock(): Promise<void>
  /** Whether the walk may press it. @param path  of the page */
  mayPress(choice: Choice, path: string): boolean
}

/** What leaves the console, or only moves the focus. */
const leads = /documentation|skip to the content/i

export async function furnish(platform: Platform): Promise<Furnishing> {
  const gate = join(temporaryFolder(), "gate")
  const repository = await deskRepository()
  const lasting = await deployDesk(platform, "help-desk", repository)
  // A second revision, so that there is one to go back to.
  const { deploymentId, revisionId } = lasting
  const redeploy = `/v2/deployments/${deploymentId}/revisions/${revisionId}/redeploy`
  const again = await platform.api<{ latest_revision_id: string }>("POST", redeploy, {})
  await untilDeployed(platform, deploymentId, again.body.latest_revision_id)
  const kept = await keyPrefixes(platform)
  let count = 0
  let scratch = await scratchDesk()
  let paused: readonly string[] = []

  async function scratchDesk(): Promise<DeployedDesk> {
    const desk = await deployDesk(platform, `scratch-${++count}`, repository)
    const path = `/v2/deployments/${desk.deploymentId}`
    await platform.api("PUT", `${path}/secrets/MODEL_KEY`, { value: "walked" })
    // Its next revisions are canaries, which can be promoted and aborted.
    await platform.api("PATCH", path, { source_config: { canary_weight: 20 } })
    return desk
  }

  const isThere = async ({ deploymentId }: DeployedDesk): Promise<boolean> => {
    const { status, body } = await platform.api<{ status: string }>("GET", `/v2/deployments/${deploymentId}`)
    return status === 200 && body.status !== "AWAITING_DELETE"
  }

  const furnishing: Furnishing = {
    pages: () => [...everyPage(lasting), ...everyPage(scratch).filter((path) => path.includes(scratch.deploymentId))],
    mayPress: ({ name, around }, path) => {
      if (leads.test(name)) return false
      if (/^delete the deployment$/i.test(name)) return !path.includes(lasting.deploymentId)
      return !(/revoke/i.test(name) && kept.some((prefix) => around.includes(prefix)))
    },
    async restock() {
      if (!(await isThere(scratch))) scratch = await scratchDesk()
      paused = await resumed(platform, paused)
      await restockWorkspace(platform)
      for (const desk of [lasting, scratch]) await restockAgent(desk, gate)
    },
    // Runs that wait would delay the end of the platform.
    [Symbol.asyncDispose]: () => writeFile(gate, ""),
  }
  await furnishing.restock()
  return furnishing
}

async function keyPrefixes({ api }: Platform): Promise<readonly string[]> {
  const { body } = await api<{ resources: { prefix: string }[] }>("GET", "/v2/api-keys?limit=100")
  return body.resources.map(({ prefix }) => prefix)
}

/** Resumes what was also paused before: in between the walk sees it paused. @returns  what is paused */
async function resumed({ api }: Platform, before: readonly string[]): Promise<readonly string[]> {
  const { body } = await api<{ resources: { id: string; run_state: string }[] }>("GET", "/v2/deployments?limit=100")
  const paused = body.resources.filter(({ run_state }) => run_state === "paused").map(({ id }) => id)
  for (const id of paused) if (before.includes(id)) await api("POST", `/v2/deployments/${id}/resume`, {})
  return paused
}

async function restockWorkspace({ api, credentials }: Platform): Promise<void> {
  const listed = async <T>(path: string) => (await api<{ resources: T[] }>("GET", path)).body.resources
  const invite = async (email: string) =>
    (await api<{ url: string }>("POST", "/v2/invitations", { email, role: "run" })).body.url
  const keys = await listed<{ name: string; revoked_at: string | null }>("/v2/api-keys?limit=100")
  if (!keys.some(({ name, revoked_at }) => name === "of a pipeline" && revoked_at === null))
    await api("POST", "/v2/api-keys", { name: "of a pipeline", scopes: ["read"], expires_at: null })
  if ((await listed("/v2/invitations?limit=100")).length === 0) await invite("bob@example.com")
  if ((await listed("/v2/integrations/git")).length === 0)
    await api("POST", "/v2/integrations/git", { name: "of a host", host: "git.example.com", token: "walked" })
  if ((await listed("/v2/members?limit=100")).length === 0) {
    const invitation = new URL(await invite("ann@example.com")).hash.replace("#invitation=", "")
    await api("POST", "/v2/console/invitation", { invitation, name: "Ann" }, { origin: credentials.url })
  }
}

/** Not while it is paused or restarts: then the next time. */
async function restockAgent({ client, threadId }: DeployedDesk, gate: string): Promise<void> {
  try {
    if ((await client.crons.search({ limit: 1 })).length === 0)
      await client.crons.create("talk", { schedule: "0 7 * * *", input: { messages: [] } })
    // Two are of its graphs, and stay.
    if ((await client.assistants.search({ limit: 5 })).length < 3)
      await client.assistants.create({ graphId: "talk", name: "polite talk" })
    if ((await client.store.searchItems(["people"], { limit: 1 })).items.length === 0)
      await client.store.putItem(["people", "ann"], "favourite", { colour: "green" })
    if ((await client.threads.count({ status: "interrupted" })) === 0) await askForRefund(client, 20)
    // One that is under way, to be stopped.
    if ((await client.threads.count({ status: "busy" })) === 0) await ask(client, { wish: "wait", gate })
    await client.threads.create({ threadId, graphId: "talk", ifExists: "do_nothing" })
  } catch (error) {
    if (!/\b(404|409|502|503)\b|fetch failed/.test(String(error))) throw error
  }
}
