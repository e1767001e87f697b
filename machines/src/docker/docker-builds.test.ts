import { after } from "node:test"
import { buildsConformance } from "../port/testing/conformance.js"
import { machineOptions, openedPlace } from "../testing/opened-machine.js"
import { labels } from "./container.js"
import { openDockerMachine } from "./machine.js"
import { baseReference, noEngine, testEngine } from "./testing/place.js"

const homeIds: string[] = []

/** Two openings of one data folder. */
function machinePlace() {
  const options = machineOptions()
  homeIds.push(options.homeId)
  const { socketPath } = testEngine()
  const docker = { socketPath, baseImage: baseReference, network: undefined, authFolder: undefined }
  return openedPlace(() => openDockerMachine({ ...options, docker }), options)
}

buildsConformance("a machine with containers", machinePlace, noEngine)

after(async () => {
  for (const homeId of homeIds) {
    const filters = JSON.stringify({ label: [`${labels.home}=${homeId}`] })
    await testEngine().json("/networks/prune", { method: "POST", query: { filters } })
  }
})
