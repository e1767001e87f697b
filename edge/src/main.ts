/** Starts the edge. SIGTERM and SIGINT stop it: open requests and streams go on for a grace period, then it exits 0. */
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { connectOptions } from "@superstep/protocol/http/address"
import { explain } from "@superstep/toolkit/errors/explain"
import { waitingConnections } from "@superstep/toolkit/http/listen"
import { createLog } from "@superstep/toolkit/log/log"
import { listenForAdmin } from "./admin.js"
import { readConfig } from "./config.js"
import { createEdge } from "./edge.js"
import { createEdgeServer } from "./server.js"
import { listenDescriptor, plainDescriptor, successionOf } from "./succession.js"
import { readTableFile } from "./table-file.js"

// A running control plane sends its table at once; without one, the edge uses the table on disk.
const tableMs = 10_000

async function main(): Promise<void> {
  process.title = "superstep edge"
  const config = readConfig()
  const log = createLog({ process: "edge", level: config.logLevel })
  const stored = await readTableFile(config.tablePath, log)
  const isOneOfSeveral = config.listenAddress !== undefined
  // The control plane sends its table to an edge that is behind: it may have revoked keys while this one did not run.
  const table = isOneOfSeveral ? { ...stored, generation: 0 } : stored
  const edge = createEdge({ config, log, table })
  const edgeServer = createEdgeServer(edge)
  const { server, plain, close } = edgeServer
  const { listenAddress, successorFile } = config
  const accept = () => {
    plain?.listen({ fd: plainDescriptor }, waitingConnections)
    const place = listenAddress === undefined ? { fd: listenDescriptor } : connectOptions(listenAddress)
    return once(server.listen(place, waitingConnections), "listening")
  }
  const onEnd = () => {
    log.info({}, "edge exits after its successor took over")
    process.exit(0)
  }
  const succession = successorFile === undefined ? undefined : successionOf(edgeServer, { successorFile, onEnd })
  const isReady = () => server.listening
  if (!isOneOfSeveral && edge.table.hasKeyRights) await accept()
  const admin = await listenForAdmin(edge, { succession, isReady })

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

  if (!server.listening) {
    // The table on disk is of an older release, or may be out of date; a new edge has none.
    const isNew = isOneOfSeveral && table.routes.length === 0
    await Promise.race([edge.tableTaken, ...(isNew ? [] : [sleep(tableMs, undefined, { ref: false })])])
    if (isStopping) return
    await accept()
  }
  const { address, port } = server.address() as AddressInfo
  log.info({ host: address, port, generation: edge.table.generation }, "edge listens")
}

main().catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`)
  process.exit(1)
})
