/** Chooses the kind of machine. */
import { readdir, realpath } from "node:fs/promises"
import { join } from "node:path"
import type { Values } from "@superstep/toolkit/config/settings"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { readJson } from "@superstep/toolkit/files/json-file"
import { EngineFailed } from "../docker/engine.js"
import { foundDockerUnits } from "../docker/found-units.js"
import { openDockerMachine } from "../docker/machine.js"
import { NoAccess } from "../kubernetes/cluster/access.js"
import { ClusterFailed } from "../kubernetes/cluster/cluster.js"
import { foundInCluster } from "../kubernetes/found-in-cluster.js"
import { openKubernetesMachine } from "../kubernetes/machine.js"
import type { MachineOptions, OpenedMachine } from "../parts/compose-machine.js"
import { type MachineFolders, machineFolders } from "../parts/files/folders.js"
import { type MachineNote, machineNoteFile, readMachineNote, writeMachineNote } from "../port/machine-note.js"
import { openProcessMachine } from "../process/machine.js"
import type { machineSettings } from "./settings.js"

export type { MachineOptions, OpenedMachine }

export type MachineChoice = Values<typeof machineSettings>

/** Units run, or may run, on another machine than the chosen one, which would start them again beside them. */
export class OtherMachine extends KnownError {
  readonly code = "other_machine"
}

/** Whether units and edges are reached from several computers, so that several control planes may run. */
export const isShared = ({ machine, edgeToken, edgeUrl }: MachineChoice): boolean =>
  machine === "kubernetes" && edgeToken !== undefined && edgeUrl !== undefined

/** @throws OtherMachine */
export async function openMachine(choice: MachineChoice, options: MachineOptions): Promise<OpenedMachine> {
  await requireSameMachine(choice, options)
  const opened = await openChosen(choice, options)
  // Only now: a machine that does not open has started no unit.
  await writeMachineNote(options.home, { ...choice, ...(isShared(choice) && { installationId: options.homeId }) })
  return opened
}

function openChosen(choice: MachineChoice, options: MachineOptions): Promise<OpenedMachine> {
  const { machine, engineSocket: socketPath, baseImage, engineNetwork: network, agentsNamespace } = choice
  const { imageCredentials: authFolder } = choice
  if (machine === "docker")
    return openDockerMachine({ ...options, docker: { socketPath, baseImage, network, authFolder } })
  if (machine === "kubernetes")
    return openKubernetesMachine({ ...options, kubernetes: { ...choice, namespace: agentsNamespace } })
  return openProcessMachine(options)
}

type Installation = Pick<MachineOptions, "home" | "homeId" | "log">

/** @throws OtherMachine  units run on the machine that the data folder was used with, and that is another one */
export async function requireSameMachine(choice: MachineNote, { home, homeId, log }: Installation): Promise<void> {
  const former = await readMachineNote(home)
  if (await isSame(former, choice)) return
  const folders = machineFolders(home)
  const formerId = former.installationId ?? homeId
  const runs = former.machine === "process" ? await anyProcessRuns(folders) : await anyOtherRuns()
  if (!runs) return
  throw new OtherMachine(
    `agents of this folder run with ${settingsOf(former)}: stop them first, by Ctrl-C of a superstep up with ${former.machine === "process" ? "that setting" : "these settings"}`,
  )

  async function anyOtherRuns(): Promise<boolean> {
    try {
      const units =
        former.machine === "docker"
          ? foundDockerUnits(folders, formerId, former.engineSocket)
          : (await foundInCluster(folders, { homeId: formerId, log }, former)).units
      const found = await Promise.all((await units.list()).map(units.status))
      return found.some(({ state }) => state === "running")
    } catch (cause) {
      if (!(cause instanceof EngineFailed || cause instanceof ClusterFailed || cause instanceof NoAccess)) throw cause
      const place = former.machine === "docker" ? "engine" : "cluster"
      throw new OtherMachine(
        `agents of this folder ran with ${settingsOf(former)}, and that ${place} does not answer, so they may still run: start it. If it was removed for good, delete ${machineNoteFile(home)} and start again`,
        { cause },
      )
    }
  }
}

function settingsOf({ machine, engineSocket, kubeconfig, agentsNamespace }: MachineNote): string {
  const settings = {
    SUPERSTEP_MACHINE: machine,
    ...(machine === "docker" && { SUPERSTEP_DOCKER_SOCKET: engineSocket }),
    ...(kubeconfig !== undefined && { SUPERSTEP_KUBECONFIG: kubeconfig }),
    ...(agentsNamespace !== undefined && { SUPERSTEP_KUBERNETES_NAMESPACE: agentsNamespace }),
  }
  return Object.entries(settings)
    .map((it) => it.join("="))
    .join(" ")
}

/** One engine may have several names, such as /run/docker.sock and /var/run/docker.sock. */
async function isSame(one: MachineNote, other: MachineNote): Promise<boolean> {
  if (one.machine !== other.machine) return false
  if (one.machine === "kubernetes")
    return one.kubeconfig === other.kubeconfig && one.agentsNamespace === other.agentsNamespace
  if (one.machine === "process" || one.engineSocket === other.engineSocket) return true
  const [first, second] = await Promise.all(
    [one, other].map(({ engineSocket }) => realpath(engineSocket).catch(ifCode(missing, engineSocket))),
  )
  return first === second
}

async function anyProcessRuns({ units }: MachineFolders): Promise<boolean> {
  for (const unitId of await readdir(units).catch(ifCode(missing, []))) {
    const identity = await readJson<ProcessIdentity>(join(units, unitId, "pid.json"))
    if (identity && (await isAlive(identity))) return true
  }
  return false
}
