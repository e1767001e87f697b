import { unitsConformance } from "../port/testing/conformance.js"
import { clusterOfFile, kubernetesPlace, noCluster } from "./testing/place.js"

const tested = clusterOfFile()

unitsConformance("pods", () => kubernetesPlace(tested()), noCluster)
