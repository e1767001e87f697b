import { Secret } from "@superstep/toolkit/config/settings"
import { v7 as newId } from "uuid"
import type { UnitSpec } from "../port.js"

/** A unit as a machine gets it, with ids of its own and no secrets. @param change  what a test says itself */
export const unitSpec = (change: Partial<UnitSpec> = {}): UnitSpec => ({
  unitId: newId(),
  deploymentId: newId(),
  revisionId: newId(),
  artifactId: "an-artifact",
  platform: undefined,
  configPath: "langgraph.json",
  name: "my-agent",
  deploymentNumber: 77,
  token: new Secret("unit-token"),
  databaseUri: new Secret("postgres://unit@localhost/unit"),
  poolSize: 4,
  secrets: {},
  memoryMb: 400,
  limits: { memoryMb: undefined, cpu: undefined },
  ...change,
})
