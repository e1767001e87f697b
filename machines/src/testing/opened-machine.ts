/** A machine as its kind opens it, for the suites of `port/testing/conformance.ts`. */
import { fileURLToPath } from "node:url"
import { limits } from "@superstep/builder/testing/build"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { v7 as newId } from "uuid"
import type { MachineOptions, OpenedMachine } from "../parts/compose-machine.js"
import { machineFolders } from "../parts/files/folders.js"
import type { KeyFiles } from "../port/host.js"
import { addExampleArtifact } from "./example-artifact.js"

const refuse = () => Promise.reject(new Error("this test uses no master key"))
const noKeyFiles: KeyFiles = { read: refuse, writeFirst: refuse, promoteNext: refuse, removeNext: refuse }

const fakeProgram = (name: string) => fileURLToPath(import.meta.resolve(`@superstep/machines/testing/${name}`))
const fakeVerify = fileURLToPath(import.meta.resolve("@superstep/builder/testing/fake-verify"))

/** They speak the protocols, and load no graphs. */
export const fakePrograms: MachineOptions["programs"] = {
  server: fakeProgram("fake-unit"),
  verify: fakeVerify,
  verifyPython: fakeVerify,
  analyse: fakeProgram("fake-analyse"),
}

/** With fake programs, and an edge that is not started. */
export const machineOptions = (change: Partial<MachineOptions> = {}): MachineOptions => ({
  home: temporaryFolder(),
  homeId: newId(),
  programs: fakePrograms,
  edge: { host: "127.0.0.1", port: 0, logLevel: "error", trustedProxies: "", drainMs: 0, hangMs: 30_000 },
  apiPort: 0,
  controlFolders: [],
  keyFiles: noKeyFiles,
  buildLimits: limits,
  nodeDirs: [],
  fetchesNode: false,
  environment: { PATH: process.env.PATH },
  log: silent,
  crashPoint: () => undefined,
  ...change,
})

/** A new data folder with an artifact. @param open  called twice: for a control plane, and for the one after its restart */
export async function openedPlace(
  open: (options: MachineOptions) => Promise<OpenedMachine>,
  options: MachineOptions = machineOptions(),
) {
  const folders = machineFolders(options.home)
  const machines = [await open(options), await open(options)] as const
  let opened = 0
  const next = () => machines[opened++ % 2 === 0 ? 0 : 1]
  const [{ controlUser }] = machines
  return { folders, artifactId: addExampleArtifact(folders), controlUser, open: next, units: () => next().units }
}
