/**
 * The machine that the tests of this run have agents on: SUPERSTEP_TEST_MACHINE is `docker` or `kubernetes`, which need `.ci/docker` or
 * `.ci/kubernetes`; without it agents are processes.
 */
import { dockerOfTests } from "./docker.js"
import { kubernetesOfTests } from "./kubernetes.js"
import type { MachineOfTests } from "./port.js"
import { processesOfTests } from "./processes.js"

export type MachineName = "process" | "docker" | "kubernetes"

/** The machine of this run. */
export const machineOfRun: MachineName = nameOf(process.env.SUPERSTEP_TEST_MACHINE ?? "process")

function nameOf(name: string): MachineName {
  if (name === "process" || name === "docker" || name === "kubernetes") return name
  throw new Error(`SUPERSTEP_TEST_MACHINE is "${name}": expected process, docker or kubernetes`)
}

/** Skips a test on the other machines. @param why  it has nothing to show there */
export const onlyWithProcesses = (why: string): string | false => machineOfRun !== "process" && why

/** @param home  the data folder of the installation */
export async function openMachine(home: string): Promise<MachineOfTests> {
  if (machineOfRun === "docker") return dockerOfTests(home)
  if (machineOfRun === "kubernetes") return kubernetesOfTests(home)
  return processesOfTests(home)
}
