/** Agents in containers of the engine that `.ci/docker` starts. */
import { readFileSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { containersOf } from "@superstep/machines/docker/containers"
import { engineAt } from "@superstep/machines/docker/engine"
import type { MachineOfLocalPlatform } from "./port.js"

export function dockerOfTests(home: string): MachineOfLocalPlatform {
  const { SUPERSTEP_TEST_DOCKER: socket, SUPERSTEP_TEST_BASE_IMAGE: baseImage } = process.env
  if (!socket || !baseImage) throw new Error("there is no engine: .ci/docker starts one")
  // The installation writes its id at its first start.
  const containers = () => containersOf(engineAt(socket), readFileSync(join(home, "id"), "utf8"))
  return {
    env: { SUPERSTEP_MACHINE: "docker", SUPERSTEP_DOCKER_SOCKET: socket, SUPERSTEP_BASE_IMAGE: baseImage },
    running: async () =>
      (await containers().list())
        .filter(({ state }) => state === "running")
        .map(({ unitId, id }) => ({ unitId, life: id })),
    present: () => readdir(join(home, "units")),
    kill: ({ life }) => containers().kill(life),
    leftovers: async () => (await containers().list()).map(({ unitId, state }) => `${state} container of ${unitId}`),
  }
}
