/** The edge in front of a system on a Unix socket. Clients connect over TCP. */

import { createHash, randomBytes } from "node:crypto"
import { join } from "node:path"
import { edgeProcess, pushTable } from "@superstep/edge/client"
import { unixAddress } from "@superstep/protocol/http/address"
import { Secret } from "@superstep/toolkit/config/settings"
import { bindTcpSocket } from "@superstep/toolkit/http/bound-socket"
import { until } from "@superstep/toolkit/testing/until"
import { BenchFailed } from "../http-client.js"
import { lastLines, startProgram } from "../processes.js"
import type { Place, System } from "./system.js"

export async function startEdge({ folder, cleanup }: Place, behind: System): Promise<System> {
  if (!("socketPath" in behind.target.address)) throw new TypeError("the edge connects only to Unix sockets")
  const key = randomBytes(16).toString("hex")
  const adminAddress = unixAddress(join(folder, "admin.sock"))
  const logFile = join(folder, "edge.log")
  const token = new Secret(randomBytes(32).toString("hex"))
  const files = {
    adminAddress,
    tablePath: join(folder, "routes.json"),
    wakeAddress: unixAddress(join(folder, "wake.sock")),
    successorFile: join(folder, "successor.json"),
  }
  using socket = await bindTcpSocket({ host: "127.0.0.1", port: 0 })
  const command = edgeProcess({ token, ...files, graceSeconds: 0 })
  const child = startProgram({ ...command, logFile, descriptors: [socket.descriptor] }, cleanup)
  const { port } = await until(() => findLogLine(logFile, "edge listens"), { what: "the edge listens" })
  await pushTable(
    { address: adminAddress, token },
    {
      generation: 1,
      routes: [
        {
          name: "bench",
          deployment_id: "bench",
          revision_id: "bench",
          state: "serving",
          keys: [createHash("sha256").update(key).digest("hex")],
          read_keys: [],
          units: [{ unit_id: "bench", address: unixAddress(behind.target.address.socketPath), token: "none" }],
          standby: [],
        },
      ],
    },
  )
  const target = { address: { host: "127.0.0.1", port }, prefix: "/d/bench", headers: { "x-api-key": key } }
  const timeStart = () => Promise.reject(new BenchFailed("the edge's start is not measured"))
  return { ...behind, name: "edge", target, pids: [child.pid ?? Number.NaN, ...behind.pids], timeStart }
}

function findLogLine(logFile: string, message: string): { port: number } | undefined {
  const line = lastLines(logFile)
    .split("\n")
    .find((text) => text.includes(`"${message}"`))
  return line === undefined ? undefined : (JSON.parse(line) as { port: number })
}
