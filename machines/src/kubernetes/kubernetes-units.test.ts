import { after, before } from "node:test"
import { unitsConformance } from "../port/testing/conformance.js"
import { kubernetesPlace, noCluster, type TestCluster, testCluster } from "./testing/place.js"

let tested: TestCluster

before(async () => {
  if (!noCluster) tested = await testCluster()
})
after(async () => {
  if (!noCluster) await tested.stop()
})

unitsConformance("pods", () => kubernetesPlace(tested), noCluster)
