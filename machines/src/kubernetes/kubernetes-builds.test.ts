import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { buildsConformance } from "../port/testing/conformance.js"
import { buildsPlace } from "./testing/builds-place.js"
import { clusterOfFile, noCluster } from "./testing/place.js"

const tested = clusterOfFile()

/** Two openings of one data folder. */
async function machinePlace() {
  const place = await buildsPlace(tested())
  const home = temporaryFolder()
  const machines = [await place.open(home), await place.open(home)] as const
  let opened = 0
  return { open: () => machines[opened++ % 2 === 0 ? 0 : 1] }
}

buildsConformance("a machine with pods", machinePlace, noCluster)
