/**
 * The control plane as in production, except that somebody else starts its edges, and that its units and builds are fakes. `TEST_EDGES` has the
 * addresses of their admin APIs, `TEST_EDGE_URL` that of one of them for callers. With `TEST_SHARED`, several processes use the same folder as the
 * machine that they share.
 */
import { mkdir } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { token } from "@superstep/edge/testing/harness"
import { severalEdges } from "@superstep/machines/parts/edges/edges"
import { listenForWakeCallsAt } from "@superstep/machines/parts/edges/wake-port"
import type { Host } from "@superstep/machines/port/host"
import { openProcessMachine } from "@superstep/machines/process/machine"
import type { Address } from "@superstep/protocol/http/address"
import { createLog } from "@superstep/toolkit/log/log"
import { buildLimitsOf, readConfig } from "../../config.js"
import { startControlPlane } from "../../control-plane.js"
import { crashPoints } from "../../planner/crash-points.js"
import { foldersOf } from "../folders.js"
import { openHome } from "../home.js"
import { keyFilesIn } from "../key-files.js"

const entry = (name: string) => fileURLToPath(import.meta.resolve(`@superstep/machines/testing/${name}`))
const { TEST_EDGES = "", TEST_EDGE_URL: url = "", TEST_WAKE_PORT: wakePort, TEST_SHARED: isShared } = process.env

const config = readConfig()
const log = createLog({ process: "control", level: config.logLevel })
const crashPoint = crashPoints(config.crashAt)
const { host, port, home } = config
await mkdir(foldersOf(home).control, { recursive: true, mode: 0o700 })
const addresses = () =>
  Promise.all(
    (TEST_EDGES.split(",") as Address[]).map(async (address) => {
      const answered = await fetch(`${address}/ready`).catch(() => undefined)
      return { address, isReady: answered?.status === 200 }
    }),
  )
const edge = severalEdges({ addresses, token, url, log })

async function openHost(homeId: string): Promise<Host> {
  const machine = await openProcessMachine({
    home,
    homeId,
    programs: {
      server: entry("fake-unit"),
      verify: fileURLToPath(import.meta.resolve("@superstep/builder/testing/fake-verify")),
      verifyPython: "",
      analyse: entry("fake-analyse"),
    },
    edge: { ...config, port: config.agentsPort },
    apiPort: port,
    // The control plane is this process, whoever runs it.
    controlFolders: [],
    keyFiles: keyFilesIn(home, config.masterKeyFile),
    buildLimits: buildLimitsOf(config),
    nodeDirs: config.nodeDirs,
    fetchesNode: config.fetchesNode,
    environment: process.env,
    log,
    crashPoint,
  })
  const listenForWakeCalls: Host["listenForWakeCalls"] = (wake) =>
    listenForWakeCallsAt({ host, port: Number(wakePort) }, wake, { log, token })
  return { ...machine, edge, listenForWakeCalls }
}

async function openOwn() {
  const homeId = await openHome(foldersOf(home))
  return { homeId, host: await openHost(homeId) }
}

const starting = startControlPlane({
  config,
  environment: process.env,
  log,
  place: isShared ? { openHost } : await openOwn(),
  address: { host, port },
  crashPoint,
  giveUp: new AbortController().signal,
  onLost: (error) => {
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  },
})
process.on("SIGTERM", async () => {
  await (await starting).stop({ all: config.stopAllOnExit })
  await edge.close()
  process.exit(0)
})
await starting
