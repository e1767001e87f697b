/** Clients that change one deployment at the same time, while its control plane is killed, and record each call. */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { deploymentOf } from "@superstep/control/pipeline/testing/platform"
import type { PlatformWithRepository } from "@superstep/control/pipeline/testing/platform-with-repository"
import type { Random } from "@superstep/toolkit/testing/seeded-random"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { until } from "@superstep/toolkit/testing/until"
import { type Answer, ask, isLost, type Reply } from "./ask.js"
import type { OutcomeWith, Recorder } from "./call.js"
import type { DeploymentCall, DeploymentOperation, DeploymentStart, DeploymentValue } from "./deployment.js"

/** Branches of the repository, each with code of its own. */
export const refs = ["main", "one", "two"] as const

export interface SharedDeployment {
  /** Its name, and part of all names of its revisions. */
  readonly name: string
  readonly seed: number
  readonly clients: number
  /** How many calls each of them makes. */
  readonly calls: number
}

const actions = [
  ...["patch code", "patch secret", "patch secret", "create", "create", "redeploy", "rollback", "rollback"],
  ...["interrupt", "interrupt", "promote", "promote", "abort", "revision", "deployment", "address", "address"],
] as const

// A revision takes some seconds, and waits for those before it.
const timeoutMs = 180_000

export class DeploymentClients {
  readonly name: string
  readonly start: DeploymentStart
  readonly #shared: SharedDeployment
  readonly #platform: PlatformWithRepository
  readonly #recorder: Recorder<DeploymentCall>
  #path = ""
  /** Ids of revisions, by name. */
  readonly #ids = new Map<string, string>()
  #names = 0

  constructor(shared: SharedDeployment, platform: PlatformWithRepository, recorder: Recorder<DeploymentCall>) {
    this.name = shared.name
    this.#shared = shared
    this.#platform = platform
    this.#recorder = recorder
    this.start = { first: `${shared.name}.0`, ref: "main", hasCanaries: shared.seed % 2 === 0 }
  }

  /** Creates the deployment; its first revision serves when this resolves. */
  async create(): Promise<void> {
    const config = this.start.hasCanaries ? { canary_weight: 50 } : {}
    const body = {
      ...deploymentOf(this.#platform.repository.url, { name: this.#shared.name, config }),
      message: this.start.first,
    }
    const { deploymentId, revisionId } = await this.#platform.deploy(body)
    const { status } = await this.#platform.untilEnded(deploymentId, revisionId, timeoutMs)
    if (status !== "DEPLOYED") throw new Error(`the first revision of ${this.#shared.name} has ended as ${status}`)
    this.#path = `/v2/deployments/${deploymentId}`
    this.#ids.set(this.start.first, revisionId)
  }

  /** Resolves when all clients have made their calls. */
  async write(): Promise<void> {
    const { clients, calls, seed, name } = this.#shared
    const each = async (number: number) => {
      const random = seededRandom(seed + number)
      for (let call = 0; call < calls; call++) {
        await sleep(random.pick([0, 50, 200, 600, 1500]))
        await this.#act(`${name}${"abcdefgh"[number]}`, random)
      }
    }
    await Promise.all(Array.from({ length: clients }, (_, number) => each(number)))
  }

  /** Reads everything once no revision can change any more; the control plane runs. @throws Error  one is never over */
  async readLast(): Promise<void> {
    const client = `${this.#shared.name}z`
    const revisions = await until(
      async () => {
        const reply = await this.#ask("GET", "/revisions?limit=100")
        const all = isLost(reply) ? [] : (reply.body.resources as { id: string; status: string; message: string }[])
        return (
          all.length > 0 && all.every(({ status }) => /^(DEPLOYED|SKIPPED|INTERRUPTED)$|FAILED$/.test(status)) && all
        )
      },
      { what: `all revisions of ${this.#shared.name} are over`, timeoutMs },
    )
    const inOrder = [...revisions].reverse()
    for (const { id, message } of inOrder) this.#ids.set(message, id)
    const now = performance.now()
    const names = inOrder.map(({ message }) => message)
    this.#record(client, { op: "list" }, { is: "ok", value: { names } }, now, now + 0.001)
    for (const name of names) await this.#readRevision(client, name)
    await this.#readDeployment(client)
    await this.#visit(client)
  }

  /** So that a long campaign does not fill the machine with units. */
  async remove(): Promise<void> {
    await this.#ask("DELETE", "")
  }

  async #act(client: string, random: Random): Promise<void> {
    const of = random.pick([...this.#ids.keys()].slice(-4))
    const revision = this.#newName()
    const ref = random.pick(refs)
    const code = { source_revision_config: { repo_ref: ref, langgraph_config_path: "langgraph.json" } }
    const onConflict = random.pick(["refuse", "queue", "supersede"] as const)
    const action = random.pick(actions)
    switch (action) {
      case "patch code":
        return this.#change(client, { op: "patch", revision, ref }, ["PATCH", "", code], random)
      case "patch secret": {
        const secrets = [{ name: "MARK", value: revision }]
        return this.#change(client, { op: "patch", revision, mark: revision }, ["PATCH", "", { secrets }], random)
      }
      case "create": {
        const what = { op: "create", revision, ref, ...(onConflict !== "refuse" && { onConflict }) } as const
        const query = "onConflict" in what ? `?on_conflict=${onConflict}` : ""
        return this.#change(client, what, ["POST", `/revisions${query}`, code], random)
      }
      case "redeploy":
        return this.#change(client, { op: "redeploy", revision, of }, ["POST", `${this.#at(of)}/redeploy`, {}], random)
      case "rollback": {
        const target = random.next() < 0.5 ? { of } : {}
        const body = "of" in target ? { revision_id: this.#ids.get(of) } : {}
        return this.#change(client, { op: "rollback", revision, ...target }, ["POST", "/rollback", body], random)
      }
      case "interrupt":
      case "promote":
      case "abort": {
        const calledAt = performance.now()
        const reply = await this.#ask("POST", `${this.#at(of)}/${action}`, {})
        return this.#record(client, { op: action, of }, outcomeOf(reply), calledAt, performance.now())
      }
      case "revision":
        return this.#readRevision(client, of)
      case "deployment":
        return this.#readDeployment(client)
      case "address":
        return this.#visit(client)
    }
  }

  async #change(
    client: string,
    what: DeploymentOperation & { readonly revision: string },
    [method, path, body]: readonly [string, string, object],
    random: Random,
  ): Promise<void> {
    // A client repeats a lost request with the same key until it has an answer: one call, which takes effect once.
    const headers = random.next() < 0.5 ? { "idempotency-key": randomUUID() } : undefined
    const calledAt = performance.now()
    let reply = await this.#ask(method, path, { ...body, message: what.revision }, headers)
    for (
      ;
      headers && isLost(reply);
      reply = await this.#ask(method, path, { ...body, message: what.revision }, headers)
    )
      await sleep(100)
    if (reply === "not sent") return
    const outcome = outcomeOf(reply)
    this.#record(client, what, outcome, calledAt, performance.now())
    if (outcome.is !== "ok" || isLost(reply)) return
    this.#ids.set(what.revision, what.op === "create" ? reply.body.id : reply.body.latest_revision_id)
  }

  async #readRevision(client: string, of: string): Promise<void> {
    const read = ({
      body: { status, source_revision_config: config, repeats_revision_id: repeats, error_code: error },
    }: Answer) => ({
      status,
      error,
      ref: config.repo_ref,
      repeats: repeats && this.#nameOf(repeats),
    })
    await this.#read(client, { op: "revision", of }, this.#at(of), read)
  }

  #readDeployment(client: string): Promise<void> {
    const read = ({ body }: Answer) => ({
      latest: this.#nameOf(body.latest_revision_id),
      active: this.#nameOf(body.active_revision_id),
    })
    return this.#read(client, { op: "deployment" }, "", read)
  }

  async #read(
    client: string,
    what: DeploymentOperation,
    path: string,
    value: (reply: Answer) => DeploymentValue,
  ): Promise<void> {
    const calledAt = performance.now()
    const reply = await this.#ask("GET", path)
    if (isLost(reply)) return
    const outcome = reply.status === 200 ? { is: "ok" as const, value: value(reply) } : outcomeOf(reply)
    this.#record(client, what, outcome, calledAt, performance.now())
  }

  /** The edge goes on while the control plane is dead: whatever it answers is judged, also a refusal. */
  async #visit(client: string): Promise<void> {
    const { agentsUrl, apiKey } = this.#platform
    const calledAt = performance.now()
    const reply = await fetch(`${agentsUrl}/d/${this.#shared.name}/env`, {
      headers: { "x-api-key": apiKey },
      signal: AbortSignal.timeout(timeoutMs),
    })
    const text = await reply.text()
    const id = reply.headers.get("x-revision-id")
    const outcome =
      reply.status === 200 && id !== null
        ? { is: "ok" as const, value: { serves: this.#nameOf(id), mark: JSON.parse(text).agent.MARK } }
        : { is: "refused" as const, status: reply.status, why: text }
    this.#record(client, { op: "address" }, outcome, calledAt, performance.now())
  }

  /** The id itself, where its name is not known yet: it is named at the end. */
  readonly #nameOf = (id: string): string => [...this.#ids].find(([, one]) => one === id)?.[0] ?? id

  /** What clients saw, with the names of all revisions. */
  named(call: DeploymentCall): DeploymentCall {
    const { outcome } = call
    if (outcome.is !== "ok" || !outcome.value) return call
    const value = { ...outcome.value }
    for (const field of ["serves", "latest", "active", "repeats"] as const) {
      const id = value[field]
      if (id) value[field] = this.#nameOf(id)
    }
    return { ...call, outcome: { is: "ok", value } }
  }

  #record(
    client: string,
    what: DeploymentOperation,
    outcome: OutcomeWith<DeploymentValue>,
    calledAt: number,
    returnedAt: number,
  ): void {
    const end = outcome.is === "unknown" ? Number.POSITIVE_INFINITY : returnedAt
    this.#recorder.add({ thread: this.#shared.name, client, what, calledAt, returnedAt: end, outcome })
  }

  #ask(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Reply> {
    const { apiUrl, apiKey } = this.#platform
    return ask(apiUrl, { method, path: this.#path + path, body, headers: { "x-api-key": apiKey, ...headers } })
  }

  readonly #at = (name: string): string => `/revisions/${this.#ids.get(name)}`

  #newName(): string {
    this.#names++
    return `${this.#shared.name}.${this.#names}`
  }
}

function outcomeOf(reply: Reply): OutcomeWith<DeploymentValue> {
  if (isLost(reply)) return { is: "unknown" }
  if (reply.status < 300) return { is: "ok" }
  return { is: "refused", status: reply.status, why: String(reply.body.detail) }
}
