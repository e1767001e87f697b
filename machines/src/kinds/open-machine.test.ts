import assert from "node:assert/strict"
import { once } from "node:events"
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { labels } from "../docker/container.js"
import { writeMachineNote } from "../port/machine-note.js"
import { OtherMachine } from "./kinds.js"
import { requireSameMachine } from "./open-machine.js"

/** An engine that lists one running container of an installation. @param owner  undefined for whoever asks */
async function engineWithUnit(owner?: string) {
  const socketPath = join(temporaryFolder(), "engine.sock")
  const listed = [{ Id: "c1", State: "running", Labels: { [labels.unit]: "u1" } }]
  const server = createServer(({ url = "" }, response) => {
    const isOwn = owner === undefined || decodeURIComponent(url).includes(`${labels.home}=${owner}`)
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(isOwn ? listed : []))
  }).listen(socketPath)
  await once(server, "listening")
  const stop = () => {
    server.close()
    server.closeAllConnections()
  }
  return { socketPath, stop, [Symbol.dispose]: stop }
}

const homeId = "0190a1b2-0000-7000-8000-000000000001"
const refusedWith = (pattern: RegExp) => (error: unknown) =>
  error instanceof OtherMachine && pattern.test(error.message)

test("containers of one engine are not started again by another engine, or as processes", async () => {
  using engine = await engineWithUnit()
  const home = temporaryFolder()
  mkdirSync(join(home, "units"))
  await writeMachineNote(home, { machine: "docker", engineSocket: engine.socketPath })
  const another = join(home, "same.sock")
  symlinkSync(engine.socketPath, another)
  const choose = (machine: "docker" | "process", engineSocket: string) =>
    requireSameMachine({ machine, engineSocket }, { home, homeId, log: silent, environment: {} })

  await choose("docker", engine.socketPath)
  await choose("docker", another)
  for (const machine of ["docker", "process"] as const)
    await assert.rejects(
      choose(machine, "/other.sock"),
      refusedWith(/SUPERSTEP_DOCKER_SOCKET=.*engine\.sock: stop them/),
    )
})

test("what ran in a shared place is looked for by the id that the note has, not by the folder's", async () => {
  const installationId = "0190a1b2-0000-7000-8000-000000000002"
  using engine = await engineWithUnit(installationId)
  const home = temporaryFolder()
  mkdirSync(join(home, "units"))
  const former = { machine: "docker", engineSocket: engine.socketPath } as const
  const start = () =>
    requireSameMachine({ machine: "process", engineSocket: "" }, { home, homeId, log: silent, environment: {} })

  await writeMachineNote(home, former)
  await start()
  await writeMachineNote(home, { ...former, installationId })
  await assert.rejects(start, refusedWith(/stop them first/))
})

test("where the former engine was removed, a start says what to do, and that helps", async () => {
  const home = temporaryFolder()
  mkdirSync(join(home, "units"))
  await writeMachineNote(home, { machine: "docker", engineSocket: join(home, "gone.sock") })
  const start = () =>
    requireSameMachine({ machine: "process", engineSocket: "" }, { home, homeId, log: silent, environment: {} })
  const file = join(home, "machine.json")

  await assert.rejects(start, refusedWith(new RegExp(`removed for good, delete ${file}`)))
  assert.ok(existsSync(file))
  rmSync(file)

  await start()
})

test("pods of a cluster that cannot be asked count as running until the operator says otherwise", async () => {
  const home = temporaryFolder()
  mkdirSync(join(home, "units"))
  const kubeconfig = join(home, "no.kubeconfig")
  const cluster = { machine: "kubernetes", engineSocket: "", kubeconfig, agentsNamespace: "agents" } as const
  await writeMachineNote(home, cluster)

  await requireSameMachine(cluster, { home, homeId, log: silent, environment: {} })
  for (const other of [{ machine: "process", engineSocket: "" } as const, { ...cluster, agentsNamespace: "others" }])
    await assert.rejects(
      requireSameMachine(other, { home, homeId, log: silent, environment: {} }),
      refusedWith(/SUPERSTEP_KUBERNETES_NAMESPACE=agents, and that cluster does not answer/),
    )
})
