import { after, before } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { buildsConformance } from "../port/testing/conformance.js"
import { buildsPlace } from "./testing/builds-place.js"
import { noCluster, type TestCluster, testCluster } from "./testing/place.js"

let tested: TestCluster

before(async () => {
  if (!noCluster) tested = await testCluster()
})
after(async () => {
  if (!noCluster) await tested.stop()
})

/** Two openings of one data folder. */
async function machinePlace() {
  const place = await buildsPlace(tested)
  const home = temporaryFolder()
  const machines = [await place.open(home), await place.open(home)] as const
  let opened = 0
  return { open: () => machines[opened++ % 2 === 0 ? 0 : 1] }
}

buildsConformance("a machine with pods", machinePlace, noCluster)
