import assert from "node:assert/strict"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { NoAccess } from "../kubernetes/cluster/access.js"
import { writeMachineNote } from "../port/machine-note.js"
import { foundMachine } from "./found-machine.js"

test("units in a shared place are not counted as units that nobody supervises", async () => {
  const home = temporaryFolder()
  mkdirSync(join(home, "units"))
  const note = {
    machine: "kubernetes",
    engineSocket: "",
    kubeconfig: join(home, "none"),
    agentsNamespace: "a",
  } as const
  const running = () => foundMachine({ home, homeId: async () => "h", log: silent, environment: {} }).running()

  await writeMachineNote(home, note)
  await assert.rejects(running(), NoAccess)
  await writeMachineNote(home, { ...note, installationId: "0190a1b2-0000-7000-8000-000000000001" })
  assert.deepEqual(await running(), [])
})
