import { after } from "node:test"
import { fileURLToPath } from "node:url"
import { limits } from "@superstep/builder/testing/build"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { v7 as newId } from "uuid"
import { buildsConformance } from "../port/testing/conformance.js"
import { noKeyFiles } from "../testing/no-key-files.js"
import { labels } from "./container.js"
import { openDockerMachine } from "./machine.js"
import { baseReference, noEngine, testEngine } from "./testing/place.js"

const program = (name: string) => fileURLToPath(import.meta.resolve(`@superstep/machines/testing/${name}`))
const homeIds: string[] = []

/** Two openings of one data folder. */
async function machinePlace() {
  const homeId = newId()
  homeIds.push(homeId)
  const options = {
    home: temporaryFolder(),
    homeId,
    programs: {
      server: program("fake-unit"),
      verify: fileURLToPath(import.meta.resolve("@superstep/builder/testing/fake-verify")),
      verifyPython: fileURLToPath(import.meta.resolve("@superstep/builder/testing/fake-verify")),
      analyse: program("fake-analyse"),
    },
    edge: { host: "127.0.0.1", port: 0, logLevel: "error", trustedProxies: "", drainMs: 0, hangMs: 30_000 } as const,
    apiPort: 0,
    controlFolders: [],
    keyFiles: noKeyFiles,
    buildLimits: limits,
    nodeDirs: [],
    fetchesNode: false,
    environment: { PATH: process.env.PATH },
    log: silent,
    crashPoint: () => undefined,
    docker: {
      socketPath: testEngine().socketPath,
      baseImage: baseReference,
      network: undefined,
      authFolder: undefined,
    },
  }
  const machines = [await openDockerMachine(options), await openDockerMachine(options)] as const
  let opened = 0
  return { open: () => machines[opened++ % 2 === 0 ? 0 : 1] }
}

buildsConformance("a machine with containers", machinePlace, noEngine)

after(async () => {
  for (const homeId of homeIds) {
    const filters = JSON.stringify({ label: [`${labels.home}=${homeId}`] })
    await testEngine().json("/networks/prune", { method: "POST", query: { filters } })
  }
})
