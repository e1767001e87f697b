/** docs/compatibility.md, and a server to hold against it. */
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { agentDatabase, startAgentServer } from "../testing/agent-servers.js"
import { operationsOf } from "../testing/openapi-routes.js"
import { expectPage } from "../testing/printed-page.js"
import type { Called } from "./calls.js"
import { replaceSection } from "./page.js"

const page = new URL("../../../docs/compatibility.md", import.meta.url)
const config = fileURLToPath(new URL("../../graphs/langgraph.json", import.meta.url))

/** A server with the graphs of `tests/graphs`, and the routes of its document. */
export async function startServer() {
  const db = await agentDatabase()
  const server = await startAgentServer({ databaseUri: db.uri, env: { SUPERSTEP_CONFIG: config } })
  const stop = async () => {
    await server[Symbol.asyncDispose]()
    await db[Symbol.asyncDispose]()
  }
  const reply = await fetch(`${server.url}/openapi.json`, { headers: server.headers })
  const document = (await reply.json()) as Parameters<typeof operationsOf>[0]
  return { server, routes: [...operationsOf(document).keys()], [Symbol.asyncDispose]: stop }
}

/** Asserts that the page has these sections, or writes them with `UPDATE_DOCS=1`. */
export async function expectSections(sections: Readonly<Record<string, string>>): Promise<void> {
  const told = await readFile(page, "utf8")
  const shown = Object.entries(sections).reduce((text, [title, body]) => replaceSection(text, title, body), told)
  await expectPage(page, shown)
}

export const failuresOf = (called: readonly Called[]) =>
  called.filter(({ failure }) => failure !== undefined).map(({ client, failure }) => `${client}: ${failure}`)
