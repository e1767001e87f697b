/**
 * Two control planes of one installation on a real API server, as the chart runs them: no data folder in common, an edge as a pod, and kills. They and
 * the edge run beside the cluster; their pods are objects whose state the test reports.
 */
import assert from "node:assert/strict"
import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { chmodSync } from "node:fs"
import { after, before, test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { installationIdOf } from "@superstep/control/home/home-queries"
import { ensureDefaultWorkspace } from "@superstep/control/workspaces/operations"
import { token } from "@superstep/edge/testing/harness"
import { type Pod, pathsIn } from "@superstep/machines/kubernetes/cluster/objects"
import { ownedObjects } from "@superstep/machines/kubernetes/cluster/owned-objects"
import { newNamespace, noCluster, type TestCluster, testCluster } from "@superstep/machines/kubernetes/testing/place"
import { type TcpEdge, tcpEdge } from "@superstep/machines/parts/edges/testing/tcp-edge"
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import { createDatabase } from "@superstep/toolkit/db/provision"
import { sql } from "@superstep/toolkit/db/sql"
import { type RunningPostgres, startPostgres } from "@superstep/toolkit/postgres/start-postgres"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { preparedCluster } from "@superstep/toolkit/testing/prepared-cluster"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import {
  type Caller,
  clientOf,
  type Deployment,
  deploy,
  startRevision,
  untilDeployed,
  versionOf,
} from "./testing/deployments.js"
import { createRepository, type Repository, versionFile } from "./testing/repository.js"

const skip =
  unlessWide("deploys agents in pods") ||
  noCluster ||
  (process.env.SUPERSTEP_TEST_HOSTS === undefined && "needs .ci/kubernetes")

const program = fileURLToPath(import.meta.resolve("@superstep/control/main"))
const edgeHost = "127.0.0.11"
const labelsOf = (component: string) => ({
  "app.kubernetes.io/part-of": "superstep",
  "app.kubernetes.io/component": component,
})

let cluster: TestCluster
let namespace: string
let postgres: RunningPostgres
let db: Database
let edge: TcpEdge
let settings: Record<string, string>
let repository: Repository
let deployment: Deployment
/** The one that got the requests of the test last. */
let inCharge: ControlPlane
const all: ControlPlane[] = []

/** A process of a pod, each time with an empty data folder. */
class ControlPlane {
  private child: ChildProcess | undefined
  private printed = ""
  url = ""

  constructor(readonly pod: string) {}

  async start(env: Record<string, string> = {}): Promise<void> {
    const [port, wakePort] = [await freePort(), await freePort()]
    this.url = `http://127.0.0.1:${port}`
    // Others cannot enter it, so that root isolates nothing, as the plain user of a pod cannot.
    const home = temporaryFolder()
    chmodSync(home, 0o700)
    const child = spawn(process.execPath, [program], {
      env: {
        PATH: process.env.PATH,
        ...settings,
        SUPERSTEP_HOME: home,
        SUPERSTEP_PORT: String(port),
        SUPERSTEP_WAKE_PORT: String(wakePort),
        SUPERSTEP_POD_NAME: this.pod,
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    })
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (this.printed += text))
    this.child = child
  }

  output = () => this.printed.slice(-4000)

  async health(): Promise<string | undefined> {
    // Nothing listens before it has started, and for a moment while it takes over: no answer then.
    const reply = await fetch(`${this.url}/health`).catch(() => undefined)
    return reply && ((await reply.json()) as { status?: string }).status
  }

  untilInCharge = () => this.until("ok")
  untilStandby = () => this.until("standby")

  private async until(status: string): Promise<void> {
    const is = async () => {
      if (this.hasEnded) throw new Error(`the control plane of ${this.pod} has ended: ${this.output()}`)
      return (await this.health()) === status
    }
    await until(is, { what: `${this.pod} is ${status}`, timeoutMs: 300_000 })
  }

  private get hasEnded(): boolean {
    return this.child === undefined || this.child.exitCode !== null || this.child.signalCode !== null
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal)
  }

  /** @returns  its exit code; null after a kill */
  async ended(): Promise<number | null> {
    await until(() => this.hasEnded, { what: `the process of ${this.pod} has ended`, timeoutMs: 300_000 })
    return this.child?.exitCode ?? null
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL")
    await this.ended()
  }
}

const other = (): ControlPlane => all.find((it) => it !== inCharge) as ControlPlane

async function takeOver(): Promise<void> {
  inCharge = other()
  await inCharge.untilInCharge()
}

const podsAt = () => pathsIn(namespace).pods

/** A pod that no node runs. */
async function createPod(name: string, component: string): Promise<void> {
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`
  await until(async () => (await cluster.admin.json(account, { also: [404] })).status === 200, {
    what: "the namespace is ready for pods",
  })
  const spec = { schedulerName: "nobody", containers: [{ name: "main", image: "none" }] }
  const metadata = { name, labels: labelsOf(component) }
  await cluster.admin.json(podsAt(), { method: "POST", body: { metadata, spec } })
}

async function markedPods(): Promise<readonly string[]> {
  const { body } = await cluster.admin.json<{ readonly items: readonly Pod[] }>(podsAt(), {
    query: { labelSelector: "superstep/in-charge=true" },
  })
  return body.items.map(({ metadata }) => metadata.name)
}

/** Waits until the installation has the objects of so many units, and none of a build. */
async function untilLeft(units: number): Promise<void> {
  const objects = ownedObjects(cluster.admin, await installationIdOf(db))
  const { services, secrets, pods, jobs } = pathsIn(namespace)
  const left = async () => {
    const found = await Promise.all([services, secrets, pods, jobs].map((path) => objects.list(path)))
    // Its knowledge of the base image stays.
    return found.map((all) => all.filter(({ metadata }) => !metadata.name.startsWith("superstep-base-")).length)
  }
  const wanted = [units, units, units, 0]
  await until(async () => String(await left()) === String(wanted), { what: `the objects of ${units} units are left` })
}

let apiKey = ""
const caller: Caller = {
  get credentials() {
    return { url: inCharge.url, tenant_id: "", api_key: apiKey, org_api_key: "" }
  },
  output: () => inCharge.output(),
  api: async (method, path, body, headers = {}) => {
    const response = await fetch(`${inCharge.url}${path}`, {
      method,
      headers: { "content-type": "application/json", "x-api-key": apiKey, ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) }
  },
}

const version = () => versionOf(caller, deployment)

before(async () => {
  if (skip) return
  const folder = await preparedCluster()
  postgres = await startPostgres({ folder, log: silent, stopWithParent: true })
  const uri = await createDatabase({ adminUri: postgres.superuserUri, name: "superstep" })
  db = openDatabase({ uri, log: silent })
  cluster = await testCluster({ shared: [folder] })
  namespace = await newNamespace(cluster)
  const adminPort = await freePort()
  edge = await tcpEdge("http://127.0.0.1:1", {}, { host: edgeHost, adminPort })
  await createPod("edge-0", "edge")
  await cluster.admin.json(`${podsAt()}/edge-0/status`, {
    method: "PATCH",
    contentType: "application/strategic-merge-patch+json",
    body: {
      status: {
        phase: "Running",
        podIP: edgeHost,
        podIPs: [{ ip: edgeHost }],
        conditions: [{ type: "Ready", status: "True" }],
      },
    },
  })
  settings = {
    DATABASE_URI: uri,
    SUPERSTEP_MASTER_KEY: randomBytes(32).toString("base64"),
    SUPERSTEP_MACHINE: "kubernetes",
    SUPERSTEP_KUBECONFIG: cluster.kubeconfig,
    SUPERSTEP_KUBERNETES_NAMESPACE: namespace,
    SUPERSTEP_REGISTRY: `${cluster.host}/agents`,
    SUPERSTEP_BASE_IMAGE: cluster.baseImage,
    SUPERSTEP_EDGE_TOKEN: token.reveal(),
    SUPERSTEP_EDGE_URL: edge.url,
    SUPERSTEP_AGENTS_URL: edge.url,
    SUPERSTEP_EDGE_PODS: "app.kubernetes.io/component=edge",
    SUPERSTEP_EDGE_ADMIN_PORT: String(adminPort),
    SUPERSTEP_CONTROL_PODS: "app.kubernetes.io/component=control",
    SUPERSTEP_WORKERS: "1",
    SUPERSTEP_WATCH: "0",
  }
  for (const name of ["control-0", "control-1"]) {
    await createPod(name, "control")
    all.push(new ControlPlane(name))
  }
  inCharge = all[0] as ControlPlane
  repository = await createRepository()
  await repository.push(versionFile("v0"))
})
after(async () => {
  if (skip) return
  for (const controlPlane of all) await controlPlane.kill()
  await edge[Symbol.asyncDispose]()
  await db.close()
  await cluster.stop()
  await postgres.stop()
})

test("one is in charge, with the label of its pod; the other stands by and takes over in order", { skip }, async () => {
  await inCharge.start()
  await inCharge.untilInCharge()
  await other().start()
  await other().untilStandby()
  apiKey = (await ensureDefaultWorkspace(db))?.api_key ?? ""
  deployment = await deploy(caller, "agent", repository.url, [], "installed")
  assert.equal(await version(), "v0")
  await until(async () => (await markedPods()).includes("control-0"), { what: "the pod in charge has the label" })

  const former = inCharge
  former.signal("SIGTERM")
  await takeOver()

  assert.equal(await former.ended(), 0, former.output())
  await until(async () => String(await markedPods()) === "control-1", { what: "the label has moved" })
  assert.equal(await version(), "v0")
})

// One of each stage in which the machine or the edges change; control/src/pipeline/crash.wide.test.ts has them all, with a restart.
const points = ["build:after-start", "deploy:after-start", "switch:after-activate", "unit:after-stop"]

test(`killed at ${points.join(", ")}, the other deploys; no run is lost and nothing is left`, { skip }, async () => {
  let isOver = false
  const answers: string[] = []
  const runs = (async () => {
    for (; !isOver; await pause(50)) answers.push(await version().catch(String))
  })()
  const versions = ["v0"]
  try {
    for (const [n, point] of points.entries()) {
      await other().start({ SUPERSTEP_CRASH_AT: point })
      await other().untilStandby()
      await inCharge.kill()
      await takeOver()

      versions.push(`v${n + 1}`)
      await repository.push(versionFile(`v${n + 1}`))
      const revisionId = await startRevision(caller, deployment.id)
      await other().start()
      assert.equal(await inCharge.ended(), null, inCharge.output())
      await takeOver()

      await untilDeployed(caller, deployment.id, revisionId)
      assert.equal(await version(), `v${n + 1}`)
      await untilLeft(1)
    }
  } finally {
    isOver = true
    await runs
  }

  assert.ok(answers.length > 0)
  const wrong = answers.filter((answer) => !versions.includes(answer))
  assert.deepEqual(wrong, [])
})

/** The lines that say that an attempt of a run has started, all up to now. */
async function startsOfRuns(): Promise<readonly string[]> {
  const input = { messages: [{ role: "user", content: "hi" }] }
  const { run_id } = await clientOf(caller, deployment).runs.create(null, "chat", { input })
  const stored = () =>
    db.rows<{ run_id: string; message: string }>(
      sql`select run_id, message from log_lines where stream = 'deploy' and message like 'run started%'`,
    )
  await until(async () => (await stored()).some((line) => line.run_id === run_id), { what: "its start is stored" })
  return (await stored()).map((line) => `${line.run_id} ${line.message}`)
}

test("killed while it stores what agents print, no line is lost or there twice", { skip }, async () => {
  // A second life of the unit, so that its output is more than what its pod has.
  const present = await version()
  const owned = ownedObjects(cluster.admin, await installationIdOf(db))
  const [pod] = await owned.list<Pod>(podsAt())
  process.kill(cluster.pidOf(pod?.metadata.uid ?? ""), "SIGKILL")
  await until(async () => (await version().catch(String)) === present, {
    what: "it was started again",
    timeoutMs: 300_000,
  })
  const before = await startsOfRuns()
  let runs = 0
  for (const point of ["logs:before-store", "logs:after-store"]) {
    await other().start({ SUPERSTEP_CRASH_AT: point })
    await other().untilStandby()
    await inCharge.kill()
    inCharge = other()
    const ended = inCharge.ended()
    for (let isOver = false; !isOver; ) {
      assert.equal(await version(), present)
      runs += 1
      isOver = await Promise.race([ended.then(() => true), pause(200, false)])
    }
    assert.equal(await ended, null, inCharge.output())
    await other().start()
    await takeOver()
  }

  const afterwards = await startsOfRuns()
  assert.equal(afterwards.length, before.length + runs + 1)
  assert.equal(new Set(afterwards).size, afterwards.length)
})

test("one that was stopped is replaced, and ends when it goes on; a deletion leaves nothing", { skip }, async () => {
  await other().start()
  await other().untilStandby()
  const stopped = inCharge
  stopped.signal("SIGSTOP")
  await takeOver()
  assert.equal(await version(), `v${points.length}`)

  stopped.signal("SIGCONT")
  assert.equal(await stopped.ended(), 1)

  const { status } = await caller.api("DELETE", `/v2/deployments/${deployment.id}`)
  assert.ok(status < 300, String(status))
  await untilLeft(0)
})
