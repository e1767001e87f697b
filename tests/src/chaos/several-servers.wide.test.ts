import { test } from "node:test"
import { skip } from "@superstep/toolkit/testing/processes"
import { severalServers } from "./several-servers.js"

test("several servers on one database", { skip }, (t) => severalServers(t))
