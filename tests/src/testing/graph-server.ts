/** An agent server as a process of its own, with the graphs of `tests/graphs`. */
import { fileURLToPath } from "node:url"
import { type ServerWithDatabase, serverForAll, startServerWithDatabase } from "./agent-servers.js"

export const graphsConfig = fileURLToPath(new URL("../../graphs/quick.json", import.meta.url))

export type GraphServer = ServerWithDatabase

type Env = Readonly<Record<string, string>>

export const startGraphServer = (env: Env = {}, { hasUnitToken = true } = {}): Promise<GraphServer> =>
  startServerWithDatabase({ env: { SUPERSTEP_CONFIG: graphsConfig, ...env }, hasUnitToken })

/** As `serverForAll`. */
export const graphServerForAll = (env: Env = {}): GraphServer =>
  serverForAll({ env: { SUPERSTEP_CONFIG: graphsConfig, ...env } })
