/** An agent server as a process of its own, with the graphs of `tests/graphs`. */
import { fileURLToPath } from "node:url"
import { type AgentServerProcess, type AgentServerSetup, agentDatabase, startAgentServer } from "./agent-servers.js"

export const graphsConfig = fileURLToPath(new URL("../../graphs/quick.json", import.meta.url))

export interface GraphServer extends AgentServerProcess {
  readonly databaseUri: string
}

export async function startGraphServer(
  env: Readonly<Record<string, string>> = {},
  options: Pick<AgentServerSetup, "hasUnitToken"> = {},
): Promise<GraphServer> {
  const db = await agentDatabase()
  const setup = { databaseUri: db.uri, env: { SUPERSTEP_CONFIG: graphsConfig, ...env }, ...options }
  const server = await startAgentServer(setup).catch(async (error: unknown) => {
    await db.close()
    throw error
  })
  const stop = async () => {
    await server[Symbol.asyncDispose]()
    await db.close()
  }
  return { ...server, databaseUri: db.uri, [Symbol.asyncDispose]: stop }
}
