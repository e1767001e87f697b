import assert from "node:assert/strict"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { after } from "node:test"
import { testUnless } from "@superstep/toolkit/testing/test-unless"
import { buildsConformance } from "../port/testing/conformance.js"
import { machineOptions, openedPlace } from "../testing/opened-machine.js"
import { layoutFolder } from "./artifact-images.js"
import { labels } from "./container.js"
import { openDockerMachine } from "./machine.js"
import { baseReference, noEngine, testEngine } from "./testing/place.js"

const homeIds: string[] = []

function newMachine() {
  const options = machineOptions()
  homeIds.push(options.homeId)
  const { socketPath } = testEngine()
  const docker = { socketPath, baseImage: baseReference, network: undefined, authFolder: undefined }
  return { options, open: () => openDockerMachine({ ...options, docker }) }
}

/** Two openings of one data folder. */
function machinePlace() {
  const { options, open } = newMachine()
  return openedPlace(open, options)
}

buildsConformance("a machine with containers", machinePlace, noEngine)

testUnless(noEngine)("what a killed process left of its images is removed when the next one starts", async () => {
  const { options, open } = newMachine()
  const file = join(layoutFolder(options.home), "1.partial")
  mkdirSync(dirname(file))
  writeFileSync(file, "")

  await open()

  assert.ok(!existsSync(file))
})

after(async () => {
  for (const homeId of homeIds) {
    const filters = JSON.stringify({ label: [`${labels.home}=${homeId}`] })
    await testEngine().json("/networks/prune", { method: "POST", query: { filters } })
  }
})
