/**
 * The machine that the tests of this run have agents on: SUPERSTEP_TEST_MACHINE is `docker` or `kubernetes`, which need `.ci/docker` or
 * `.ci/kubernetes`; without it agents are processes. With `chart`, which needs `.ci/chart .ci/kubernetes`, the platform is in the cluster, too.
 */
import { dockerOfTests } from "./docker.js"
import { kubernetesOfTests } from "./kubernetes.js"
import type { MachineOfLocalPlatform } from "./port.js"
import { processesOfTests } from "./processes.js"

const names = ["process", "docker", "kubernetes", "chart"] as const
export type MachineName = (typeof names)[number]

/** The machine of this run. */
export const machineOfRun: MachineName = nameOf(process.env.SUPERSTEP_TEST_MACHINE ?? "process")

function nameOf(name: string): MachineName {
  const found = names.find((it) => it === name)
  if (!found) throw new Error(`SUPERSTEP_TEST_MACHINE is "${name}": expected ${names.join(", ")}`)
  return found
}

/** Skips a test on the other machines. @param why  it has nothing to show there */
export const onlyWithProcesses = (why: string): string | false => machineOfRun !== "process" && why

const opened = new Map<string, Promise<MachineOfLocalPlatform>>()

/** @param home  the data folder of the installation; it has the same machine at each start */
export function openMachine(home: string): Promise<MachineOfLocalPlatform> {
  const machine = opened.get(home) ?? newMachine(home)
  opened.set(home, machine)
  return machine
}

async function newMachine(home: string): Promise<MachineOfLocalPlatform> {
  if (machineOfRun === "chart") throw new Error("this test is about superstep up, which has no part in a chart")
  if (machineOfRun === "docker") return dockerOfTests(home)
  if (machineOfRun === "kubernetes") return kubernetesOfTests(home)
  return processesOfTests(home)
}
