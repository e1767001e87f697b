/** For tests: a control plane, and another installation that follows it over HTTP, each with a database of its own. */
import assert from "node:assert/strict"
import { Secret } from "@superstep/toolkit/config/settings"
import { sql } from "@superstep/toolkit/db/sql"
import { listen } from "@superstep/toolkit/http/listen"
import { createLog } from "@superstep/toolkit/log/log"
import type { RevisionStatus, Stage } from "../../revisions/revision.js"
import { startApi, type TestApi } from "../../testing/api.js"
import { type CentralCalls, callsTo } from "../mirror/central.js"
import { Reports } from "../mirror/report-loop.js"
import { Work } from "../mirror/work-loop.js"

export interface Follower {
  readonly calls: CentralCalls
  readonly work: Work
  readonly reports: Reports
}

export interface TwoInstallations extends AsyncDisposable {
  readonly central: TestApi
  readonly remote: TestApi
  readonly url: string
  readonly listenerId: string
  readonly token: string
  /** As another process with that token. */
  follow(token?: string, homeId?: string, agentsUrl?: string): Follower
}

export async function createListener(api: TestApi, compute_id: string): Promise<{ id: string; token: string }> {
  const body = { compute_type: "k8s", compute_id, compute_config: { k8s_namespaces: null } }
  const made = await api.call("POST", "/v2/listeners", { body })
  assert.equal(made.status, 201, made.text)
  return { id: made.body.id, token: (await createToken(api, made.body.id)).token }
}

export async function createToken(api: TestApi, listenerId: string): Promise<{ id: string; token: string }> {
  const reply = await api.call("POST", `/v2/listeners/${listenerId}/tokens`, { body: { name: "test" } })
  assert.equal(reply.status, 201, reply.text)
  return reply.body
}

/** Creates a deployment for a listener, as clients do. */
export async function deployTo(api: TestApi, listenerId: string, name: string, config: object = {}) {
  const body = await api.deploy(name, { listener_id: listenerId, ...config })
  return body as { id: string; latest_revision_id: string }
}

/** @param options  of the control plane */
export async function twoInstallations(options: Parameters<typeof startApi>[0] = {}): Promise<TwoInstallations> {
  const central = await startApi(options)
  const remote = await startApi()
  const listening = await listen(central.fetch, { host: "127.0.0.1", port: 0 })
  const url = `http://127.0.0.1:${listening.port}`
  const { id: listenerId, token } = await createListener(central, "far")
  const stopping = new AbortController()
  const { db, key } = remote
  const follow = (its = token, homeId = "home-1", agentsUrl = "http://far.test:8901"): Follower => {
    const calls = callsTo({ url, token: new Secret(its) }, { homeId, version: "1.2.3" }, stopping.signal)
    const log = createLog({ process: "control", level: "silent" })
    return { calls, work: new Work({ db, key, log }, calls), reports: new Reports(db, calls, agentsUrl) }
  }
  return {
    central,
    remote,
    url,
    listenerId,
    token,
    follow,
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await listening.close(0)
      await remote[Symbol.asyncDispose]()
      await central[Symbol.asyncDispose]()
    },
  }
}

/** As the pipeline of the other installation does. */
export const endAt = ({ remote }: TwoInstallations, revisionId: string, status: string) =>
  remote.db.transaction(async (tx) => {
    await tx.run(sql`
      update deployments d set status = 'READY',
        active_revision_id = case when ${status} = 'DEPLOYED' then ${revisionId}::uuid else active_revision_id end
      where d.deployment_id = (select deployment_id from revisions where revision_id = ${revisionId})`)
    await tx.run(sql`
      update revisions set status = ${status}, stage = null, commit_sha = 'abc', finished_at = now() where revision_id = ${revisionId}`)
  })

/** What a listener reports of a revision. */
export const reportedRevision = (revision_id: string, status: RevisionStatus, stage: Stage | null) => ({
  revision_id,
  status,
  stage,
  commit_sha: null,
  commit: null,
  stage_started_at: {},
  error_code: null,
  status_message: null,
  orphaned_threads: null,
  pinned_threads: 0,
  started_at: null,
  finished_at: null,
})

/** What a listener reports of a deployment that is ready and has nothing to say. */
export const readyState = {
  is_ready: true,
  url: null,
  active_revision_id: null,
  health: null,
  run_state: null,
  is_restarting: false,
  problem: null,
  is_gone: false,
  revisions: [],
}
