import assert from "node:assert/strict"
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { socketServer } from "@superstep/toolkit/testing/http-server"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { labels } from "../docker/container.js"
import { writeMachineNote } from "../port/machine-note.js"
import { OtherMachine } from "./kinds.js"
import { requireSameMachine } from "./open-machine.js"

/** An engine that lists one running container of an installation. @param owner  undefined for whoever asks */
async function engineWithUnit(owner?: string) {
  const listed = [{ Id: "c1", State: "running", Labels: { [labels.unit]: "u1" } }]
  return socketServer(({ url = "" }, response) => {
    const isOwn = owner === undefined || decodeURIComponent(url).includes(`${labels.home}=${owner}`)
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(isOwn ? listed : []))
  })
}

const homeId = "0190a1b2-0000-7000-8000-000000000001"
/** A data folder with units, and what a start in it requires. @param note  of its former machine */
async function homeWith(note?: (home: string) => Parameters<typeof writeMachineNote>[1]) {
  const home = temporaryFolder()
  mkdirSync(join(home, "units"))
  if (note) await writeMachineNote(home, note(home))
  const options = { home, homeId, log: silent, environment: {} }
  return { home, start: (chosen: Parameters<typeof requireSameMachine>[0]) => requireSameMachine(chosen, options) }
}

const processes = { machine: "process", engineSocket: "" } as const
const refusedWith = (pattern: RegExp) => (error: unknown) =>
  error instanceof OtherMachine && pattern.test(error.message)

test("containers of one engine are not started again by another engine, or as processes", async () => {
  using engine = await engineWithUnit()
  const { home, start } = await homeWith(() => ({ machine: "docker", engineSocket: engine.socketPath }))
  const another = join(home, "same.sock")
  symlinkSync(engine.socketPath, another)

  for (const engineSocket of [engine.socketPath, another]) await start({ machine: "docker", engineSocket })
  for (const machine of ["docker", "process"] as const)
    await assert.rejects(
      start({ machine, engineSocket: "/other.sock" }),
      refusedWith(/SUPERSTEP_DOCKER_SOCKET=.*server\.sock: stop them/),
    )
})

test("what ran in a shared place is looked for by the id that the note has, not by the folder's", async () => {
  const installationId = "0190a1b2-0000-7000-8000-000000000002"
  using engine = await engineWithUnit(installationId)
  const former = { machine: "docker", engineSocket: engine.socketPath } as const
  const { home, start } = await homeWith(() => former)

  await start(processes)
  await writeMachineNote(home, { ...former, installationId })
  await assert.rejects(start(processes), refusedWith(/stop them first/))
})

test("where the former engine was removed, a start says what to do, and that helps", async () => {
  const { home, start } = await homeWith((home) => ({ machine: "docker", engineSocket: join(home, "gone.sock") }))
  const file = join(home, "machine.json")

  await assert.rejects(start(processes), refusedWith(new RegExp(`removed for good, delete ${file}`)))
  assert.ok(existsSync(file))
  rmSync(file)

  await start(processes)
})

test("pods of a cluster that cannot be asked count as running until the operator says otherwise", async () => {
  const kubeconfig = join(temporaryFolder(), "no.kubeconfig")
  const cluster = { machine: "kubernetes", engineSocket: "", kubeconfig, agentsNamespace: "agents" } as const
  const { start } = await homeWith(() => cluster)

  await start(cluster)
  for (const other of [processes, { ...cluster, agentsNamespace: "others" }])
    await assert.rejects(
      start(other),
      refusedWith(/SUPERSTEP_KUBERNETES_NAMESPACE=agents, and that cluster does not answer/),
    )
})

test("a data folder whose agents run on a kind of machine that this release lacks is refused", async () => {
  const { start } = await homeWith(() => ({ machine: "mainframe" }))

  await assert.rejects(start(processes), refusedWith(/"mainframe"/))
})
