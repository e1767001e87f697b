/** A bare proxy in front of a system on a Unix socket, with which the edge is compared. */
import { join } from "node:path"
import { until } from "@superstep/toolkit/testing/until"
import { BenchFailed } from "../http-client.js"
import { pathTo } from "../paths.js"
import { lastLines, startProgram } from "../processes.js"
import type { Place, System } from "./system.js"

export async function startProxy({ folder, cleanup }: Place, behind: System): Promise<System> {
  if (!("socketPath" in behind.target.address)) throw new TypeError("the proxy connects only to Unix sockets")
  const logFile = join(folder, "proxy.log")
  const argv = [process.execPath, pathTo("dist/floor/proxy.js"), behind.target.address.socketPath] as const
  const child = startProgram({ argv, env: {}, logFile }, cleanup)
  const port = await until(() => Number(lastLines(logFile).trim()) || undefined, { what: "the proxy to listen" })
  const target = { address: { host: "127.0.0.1", port }, prefix: "", headers: {} }
  const timeStart = () => Promise.reject(new BenchFailed("the proxy's start is not measured"))
  return { ...behind, name: "proxy", target, pids: [child.pid ?? Number.NaN, ...behind.pids], timeStart }
}
