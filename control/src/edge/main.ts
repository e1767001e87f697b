/** Starts the edge. SIGTERM and SIGINT stop it: open requests and streams go on for a grace period, then it exits 0. */
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { waitingConnections } from "@superstep/toolkit/http/listen"
import { createLog } from "@superstep/toolkit/log/log"
import { listenForAdmin } from "./admin.js"
import { readConfig } from "./config.js"
import { createEdge } from "./edge.js"
import { createEdgeServer } from "./server.js"
import { listenDescriptor, plainDescriptor, successionOf } from "./succession.js"
import { readTableFile } from "./table-file.js"

// A running control plane sends its table at once; without one, the table on disk admits requests that only read.
const tableMs = 10_000

async function main(): Promise<void> {
  process.title = "superstep edge"
  const config = readConfig()
  const log = createLog({ process: "edge", level: config.logLevel })
  const edge = createEdge({ config, log, table: await readTableFile(config.tablePath, log) })
  const edgeServer = createEdgeServer(edge)
  const { server, plain, close } = edgeServer
  const accept = () => {
    plain?.listen({ fd: plainDescriptor }, waitingConnections)
    return once(server.listen({ fd: listenDescriptor }, waitingConnections), "listening")
  }
  if (edge.table.hasKeyRights) await accept()
  const onEnd = () => {
    log.info({}, "edge exits after its successor took over")
    process.exit(0)
  }
  const succession = successionOf(edgeServer, { successorFile: config.successorFile, onEnd })
  const admin = await listenForAdmin(edge, succession)
  if (!server.listening) {
    // The table is of an older release: accept no callers before the control plane sends one with the rights of keys.
    await Promise.race([edge.tableTaken, sleep(tableMs)])
    await accept()
  }
  const { address, port } = server.address() as AddressInfo
  log.info({ host: address, port, generation: edge.table.generation }, "edge listens")

  let isStopping = false
  const stop = async (signal: NodeJS.Signals) => {
    if (isStopping) return
    isStopping = true
    log.info({ signal }, "edge stops")
    // The control plane may ask until the end how much is still open.
    await close(config.graceSeconds * 1000)
    admin.close()
    admin.closeAllConnections()
  }
  process.on("SIGTERM", stop)
  process.on("SIGINT", stop)
}

main().catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`)
  process.exit(1)
})

function explain(error: unknown): string {
  if (error instanceof KnownError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
