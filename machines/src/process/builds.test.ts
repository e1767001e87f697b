import { buildsConformance } from "../port/testing/conformance.js"
import { processPlace } from "./testing/place.js"

buildsConformance("processes", processPlace)
