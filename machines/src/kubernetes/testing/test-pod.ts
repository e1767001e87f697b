/** A pod of the test node: its containers one after the other, their probes and restarts, and what the API server is told of them. */
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { until } from "@superstep/toolkit/testing/until"
import { type Cluster, ClusterFailed } from "../cluster/cluster.js"
import type { KubernetesObject } from "../cluster/objects.js"
import { bytesOf } from "../cluster/pod-state.js"
import { TestContainer } from "./test-container.js"
import { environmentOf, type Variable } from "./test-environment.js"
import type { UnpackedImage } from "./test-images.js"
import { askProbes, type ProbedContainer } from "./test-probes.js"
import { fillVolume, terminationFile, terminationMessage, type Volume } from "./test-volumes.js"

interface Container extends ProbedContainer {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly Variable[]
  readonly resources: { readonly limits?: { readonly memory?: string } }
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[]
  readonly lifecycle?: { readonly preStop?: { readonly exec: { readonly command: readonly string[] } } }
}

export interface BoundPod extends KubernetesObject {
  readonly metadata: KubernetesObject["metadata"] & { readonly deletionGracePeriodSeconds?: number }
  readonly spec: {
    readonly restartPolicy?: "Always" | "Never"
    readonly serviceAccountName?: string
    readonly securityContext: { readonly runAsUser: number; readonly fsGroup: number }
    readonly volumes?: readonly Volume[]
    readonly initContainers?: readonly Container[]
    /** The first one is played. */
    readonly containers: readonly Container[]
  }
}

export interface PodPlace {
  readonly admin: Cluster
  /** Of all pods. */
  readonly folder: string
  /** See `testNode`. */
  readonly shared: readonly string[]
  filesOf(image: string): Promise<UnpackedImage>
}

/** A container as far as it has been started. */
interface Started {
  readonly container: TestContainer
  readonly startedAt: string
  readonly restarts: number
  isReady: boolean
}

// A kubelet waits longer from restart to restart.
const restartAfterMs = 1000

/** As the API has it, without fractions. */
const now = (): string => new Date().toISOString().replace(/\.\d+/, "")

export class TestPod {
  readonly #pod: BoundPod
  readonly #place: PodPlace
  readonly #ip = freeAddress()
  /** By their names. */
  readonly #started = new Map<string, Started>()
  /** In the order of their starts, with those that were restarted. */
  readonly #containers: TestContainer[] = []
  #isEnding = false
  #isEvicted = false

  constructor(pod: BoundPod, place: PodPlace) {
    this.#pod = pod
    this.#place = place
  }

  get metadata(): BoundPod["metadata"] {
    return this.#pod.metadata
  }

  /** Of the first process of the container that was started last, as this computer sees it. */
  get pid(): number {
    return this.#current?.pid ?? 0
  }

  /** Of the container that was started last; undefined while it runs. */
  get exitCode(): number | undefined {
    return this.#current?.end?.exitCode
  }

  get output(): string {
    return this.#containers.flatMap(({ lines }) => lines.map(({ text }) => `${text}\n`)).join("")
  }

  container(name: string): TestContainer | undefined {
    return this.#started.get(name)?.container
  }

  /** What the main container uses; undefined while there is none. */
  usedBytes(): number | undefined {
    const main = this.container(this.#main.name)
    return main && !main.end ? main.usedBytes() : undefined
  }

  /** As `kubectl exec`. @returns  what the command prints */
  async exec(...command: readonly string[]): Promise<string> {
    const { metadata } = this
    const container = this.container(this.#main.name)
    if (!container) throw new Error(`the pod ${metadata.name} has no container yet`)
    return container.exec(command)
  }

  async run(): Promise<void> {
    const { initContainers = [], restartPolicy } = this.#pod.spec
    for (const container of initContainers) {
      const exitCode = await this.#runContainer(container, "Pending")
      if (exitCode === undefined) return
      await this.#report(exitCode === 0 ? "Pending" : "Failed")
      if (exitCode !== 0) return
    }
    for (;;) {
      const exitCode = await this.#runContainer(this.#main, "Running")
      if (exitCode === undefined) return
      const isOver = restartPolicy !== "Always" || this.#isEnding
      await this.#report(isOver ? (exitCode === 0 ? "Succeeded" : "Failed") : "Running")
      if (isOver) return
      await pause(restartAfterMs)
    }
  }

  /** As a kubelet does: it asks the processes to end, then forces them, and removes the object last. */
  async end(graceSeconds: number): Promise<void> {
    if (this.#isEnding) return
    this.#isEnding = true
    const { metadata } = this
    const current = this.#current
    if (current && !current.end) {
      const timer = setTimeout(() => current.signal("SIGKILL"), graceSeconds * 1000)
      const { preStop } = this.#main.lifecycle ?? {}
      // A kubelet reports a failure, too, and goes on.
      if (preStop)
        await current
          .exec(preStop.exec.command)
          .catch((error: unknown) => current.print(`the preStop hook failed: ${error}\n`))
      current.signal("SIGTERM")
      await current.ended
      clearTimeout(timer)
    }
    const body = { gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } }
    await untilAnswered(() => this.#place.admin.json(pathOf(metadata), { method: "DELETE", body, also: [404, 409] }))
  }

  /** As a node does that runs short of something, or whose pod uses too much of it. */
  async evict(message: string): Promise<void> {
    this.#isEnding = true
    this.#isEvicted = true
    this.#current?.signal("SIGKILL")
    await this.#current?.ended
    const conditions = [{ type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet" }]
    await this.#setStatus({ phase: "Failed", reason: "Evicted", message, conditions })
    this.#isEnding = false
  }

  kill(): void {
    if (this.#current && !this.#current.end) this.#current.signal("SIGKILL")
  }

  get #current(): TestContainer | undefined {
    return this.#containers.at(-1)
  }

  get #main(): Container {
    const [main] = this.#pod.spec.containers
    if (!main) throw new Error("a pod has containers")
    return main
  }

  /** @returns  its exit code; undefined when the pod ends in another way */
  async #runContainer(container: Container, phase: "Pending" | "Running"): Promise<number | undefined> {
    if (this.#isEnding) return undefined
    const started = await this.#start(container)
    if (!started) return undefined
    await this.#report(phase)
    const probing = new AbortController()
    const probes = askProbes(
      container,
      {
        ip: this.#ip,
        setReady: async (isReady) => {
          started.isReady = isReady
          await this.#report(phase)
        },
        kill: () => started.container.signal("SIGKILL"),
      },
      probing.signal,
    )
    const { exitCode } = await started.container.ended
    probing.abort()
    await probes
    started.isReady = false
    return this.#isEvicted ? undefined : exitCode
  }

  async #start(container: Container): Promise<Started | undefined> {
    const { admin, filesOf, shared } = this.#place
    const { spec } = this.#pod
    const { root, config } = await filesOf(container.image)
    const mounts = await Promise.all(
      (container.volumeMounts ?? []).map(async ({ name, mountPath: to, readOnly }) => ({
        from: await this.#volume(name),
        to,
        readOnly,
      })),
    )
    const place = { admin, metadata: this.metadata, ip: this.#ip }
    const ofImage = Object.fromEntries((config.Env ?? []).map((it) => it.split(/=(.*)/s)))
    const environment = { ...ofImage, ...(await environmentOf(container.env ?? [], place)) }
    if (this.#isEnding) return undefined
    mounts.push({ ...terminationFile(this.#folder, container.name), readOnly: false })
    mounts.push(...shared.map((path) => ({ from: path, to: path, readOnly: false })))
    const ofTheImage = [...(config.Entrypoint ?? []), ...(container.args ?? config.Cmd ?? [])]
    const started = new TestContainer({
      root,
      workingDir: config.WorkingDir ?? "/",
      command: container.command ? [...container.command, ...(container.args ?? [])] : ofTheImage,
      environment,
      user: spec.securityContext.runAsUser,
      mounts,
      memoryBytes: bytesOf(container.resources.limits?.memory),
    })
    const former = this.#started.get(container.name)
    const entry: Started = {
      container: started,
      startedAt: now(),
      restarts: former ? former.restarts + 1 : 0,
      isReady: container.readinessProbe === undefined,
    }
    this.#started.set(container.name, entry)
    this.#containers.push(started)
    await until(() => started.pid > 0 || started.end, { what: "its first process runs" })
    return entry
  }

  get #folder(): string {
    return join(this.#place.folder, this.metadata.uid ?? "")
  }

  #volume(name: string): Promise<string> {
    const { spec, metadata } = this.#pod
    return fillVolume(join(this.#folder, "volumes", name), {
      admin: this.#place.admin,
      metadata,
      serviceAccount: spec.serviceAccountName ?? "default",
      volume: spec.volumes?.find((it) => it.name === name),
      group: spec.securityContext.fsGroup,
      isEnding: () => this.#isEnding,
    })
  }

  /** What the API server is told about a pod: the states of its containers as far as they have been started. */
  async #report(phase: string): Promise<void> {
    const { initContainers = [], containers } = this.#pod.spec
    const ip = this.#ip
    const isReady = phase === "Running" && this.#started.get(this.#main.name)?.isReady === true
    const conditions = ["ContainersReady", "Ready"].map((type) => ({ type, status: isReady ? "True" : "False" }))
    const status = {
      phase,
      conditions,
      ...(phase === "Running" && { podIP: ip, podIPs: [{ ip }], hostIP: "127.0.0.1" }),
      initContainerStatuses: initContainers.map((it) => this.#statusOf(it)),
      containerStatuses: containers.map((it) => this.#statusOf(it)),
    }
    await untilAnswered(() => this.#setStatus(status))
  }

  #statusOf({ name, image }: Container): object {
    const { metadata } = this
    const started = this.#started.get(name)
    if (!started) {
      const state = { waiting: { reason: "PodInitializing" } }
      return { name, image, imageID: image, ready: false, restartCount: 0, state }
    }
    const { container, startedAt, restarts, isReady } = started
    const { end, lines } = container
    const terminated = end && {
      ...end,
      startedAt,
      finishedAt: now(),
      message: terminationMessage(this.#folder, name, end.exitCode, lines),
    }
    const state = terminated ? { terminated } : { running: { startedAt } }
    const containerID = `test://${metadata.uid}/${name}`
    return { name, image, imageID: image, ready: isReady, restartCount: restarts, state, containerID }
  }

  async #setStatus(status: object): Promise<void> {
    const { metadata } = this
    await this.#place.admin.json(`${pathOf(metadata)}/status`, {
      method: "PATCH",
      contentType: "application/strategic-merge-patch+json",
      body: { metadata: { uid: metadata.uid }, status },
      // It was deleted, or evicted and so has ended for the API.
      also: [404, 409, 422],
    })
  }
}

const pathOf = ({ namespace, name }: KubernetesObject["metadata"]) => `/api/v1/namespaces/${namespace}/pods/${name}`

/** Tries again while the API server is away. */
export async function untilAnswered(work: () => Promise<unknown>): Promise<void> {
  const tried = () =>
    work().then(
      () => true,
      (error: unknown) => {
        if (error instanceof ClusterFailed && error.status === undefined) return false
        throw error
      },
    )
  await until(tried, { what: "the API server answers the node", timeoutMs: 300_000 })
}

/** All of 127.0.0.0/8 is this computer, so each pod has the same port at an address of its own. */
const freeAddress = (): string => {
  const part = () => 1 + Math.floor(Math.random() * 250)
  return `127.${part()}.${part()}.${part()}`
}
