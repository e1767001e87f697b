/** A data folder with one artifact, for units, builds and artifacts of this machine without a control plane. */
import { mkdirSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { installedNodes } from "@superstep/builder/installed-nodes"
import { installedPythons } from "@superstep/builder/python/pythons"
import { limits } from "@superstep/builder/testing/build"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { localArtifacts } from "../../parts/builds/artifacts.js"
import { localBuilds } from "../../parts/builds/builds.js"
import { prepareEdgeFolders } from "../../parts/edge/edge-folders.js"
import { type MachineFolders, machineFolders } from "../../parts/files/folders.js"
import { controlUserOf, decideIsolation, edgeUserOf, type Isolation } from "../../parts/isolation/isolation.js"
import type { Machine, Units } from "../../port/port.js"
import { addExampleArtifact } from "../../testing/example-artifact.js"
import type { Cgroups } from "../cgroups/cgroups.js"
import { processUnits } from "../units/units.js"

export interface ProcessPlace {
  readonly folders: MachineFolders
  /** An artifact with `langgraph.json`. */
  readonly artifactId: string
  /** Another call stands for a restarted control plane. */
  open(): Machine
  /** The same, for units alone. */
  units(): Units
  readonly controlUser: OsUser | undefined
  /** The process of a unit's server. */
  pidOf(unitId: string): number
}

const entryOf = (name: string) => fileURLToPath(import.meta.resolve(`@superstep/machines/testing/${name}`))

/** As root opens the machine, where it can: each deployment has its user, edge and control plane have others. */
export async function isolatedPlace(): Promise<ProcessPlace> {
  const isolation = await decideIsolation(tmpdir(), [process.execPath, entryOf("fake-unit")])
  const place = processPlace(undefined, isolation)
  await prepareEdgeFolders(place.folders, edgeUserOf(isolation), place.controlUser)
  return place
}

export function processPlace(
  cgroups: Cgroups | undefined = undefined,
  isolation: Pick<Isolation, "user"> = { user: () => undefined },
): ProcessPlace {
  const folders = machineFolders(temporaryFolder())
  for (const folder of [folders.units, folders.work, folders.cache]) mkdirSync(folder, { recursive: true })
  const artifactId = addExampleArtifact(folders)
  const environment = { PATH: process.env.PATH, SUPERSTEP_MASTER_KEY: "key", DATABASE_URI: "postgres://platform" }
  const shared = {
    folders,
    isolation,
    nodes: installedNodes([], {}),
    pythons: installedPythons({}),
    environment,
    log: silent,
  }
  const units = () => processUnits({ ...shared, serverEntry: entryOf("fake-unit"), cgroups })
  const open = () => ({
    units: units(),
    builds: localBuilds({
      ...shared,
      limits,
      verifyEntry: fileURLToPath(import.meta.resolve("@superstep/builder/testing/fake-verify")),
      verifyPython: "",
    }),
    artifacts: localArtifacts({ ...shared, analyseEntry: entryOf("fake-analyse"), limitMs: limits.verifyMs }),
  })
  const pidOf = (unitId: string) =>
    (JSON.parse(readFileSync(join(folders.units, unitId, "pid.json"), "utf8")) as { pid: number }).pid
  return { folders, artifactId, open, units, controlUser: controlUserOf(isolation), pidOf }
}
