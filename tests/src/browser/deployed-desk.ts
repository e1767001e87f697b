/** A deployed agent that has something to show on each page of the console: conversations, questions, a cron, an item of the store. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Client } from "@langchain/langgraph-sdk"
import { clientOf, type Deployment, deploy } from "../testing/deployments.js"
import type { Platform } from "../testing/installation.js"
import { createRepository, type Repository } from "../testing/repository.js"
import { type ConsoleBrowser, openConsole } from "./console-page.js"
import { askForRefund } from "./desk.js"
import type { PageIds } from "./every-page.js"

const sourceOf = (graph: string) =>
  readFileSync(fileURLToPath(new URL(`../../graphs/src/${graph}.ts`, import.meta.url)), "utf8")

const project = { node_version: "20", graphs: { desk: "./src/desk.ts:graph", talk: "./src/talk.ts:graph" }, env: {} }

export interface DeployedDesk extends PageIds {
  readonly deployment: Deployment
  readonly client: Client
  /** The threads whose questions wait. */
  readonly asking: readonly string[]
}

/** Its sources. */
export async function deskRepository() {
  const repository = await createRepository()
  await repository.push({
    "langgraph.json": JSON.stringify(project),
    "src/desk.ts": sourceOf("desk"),
    "src/talk.ts": sourceOf("talk"),
  })
  return repository
}

export async function deployDesk(
  platform: Platform,
  name = "help-desk",
  repository?: Repository,
): Promise<DeployedDesk> {
  const { url } = repository ?? (await deskRepository())
  const deployment = await deploy(platform, name, url)
  const client = clientOf(platform, deployment)
  const asking = [await askForRefund(client, 20), await askForRefund(client, 30)]
  const { thread_id: threadId } = await client.threads.create({ graphId: "talk" })
  const input = { messages: [{ role: "user", content: "hello there" }] }
  const run = await client.runs.create(threadId, "talk", { input, streamMode: "messages-tuple" })
  await client.runs.join(threadId, run.run_id)
  await client.crons.create("talk", { schedule: "0 7 * * *", input })
  await client.store.putItem(["people", "ann"], "favourite", { colour: "green" })
  return {
    deployment,
    client,
    asking,
    deploymentId: deployment.id,
    revisionId: deployment.latest_revision_id,
    threadId,
    runId: run.run_id,
  }
}

/** A browser that is signed in with a key. */
export async function signedIn(platform: Platform, key: string): Promise<ConsoleBrowser> {
  const browser = await openConsole(`${platform.credentials.url}/`)
  await signIn(browser, platform, key)
  return browser
}

export async function signIn({ context }: ConsoleBrowser, platform: Platform, key: string): Promise<void> {
  const { url } = platform.credentials
  const reply = await context.request.post(`${url}/v2/console/sessions`, {
    data: { api_key: key },
    headers: { origin: url },
  })
  if (reply.status() !== 201) throw new Error(`signing in was answered with ${reply.status()}`)
}
