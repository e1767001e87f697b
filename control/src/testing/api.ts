/** For tests: the whole API on a fresh database, with two workspaces that must be isolated from each other. */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { after, before } from "node:test"
import { fileURLToPath } from "node:url"
import type { Database } from "@superstep/toolkit/db/database"
import { createLog } from "@superstep/toolkit/log/log"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import type { Hono } from "hono"
import { type AppOptions, createApp } from "../app.js"
import { type CodeChangesOptions, codeComparer } from "../code-changes/operations.js"
import { defaultResourceTiers } from "../deployments/resource-tiers.js"
import type { Amounts } from "../quotas/quota.js"
import { type MasterKey, masterKey } from "../secrets/seal.js"
import { archiveSource } from "../sources/archive.js"
import { testGit } from "../sources/testing/git-source.js"
import { createApiKey, createWorkspace } from "../workspaces/operations.js"
import { keepLockOrder } from "./lock-order.js"

export const migrations = fileURLToPath(new URL("../../src/migrations", import.meta.url))

/** A reply with its parsed JSON; `body` is undefined when there was none. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on what came, whatever its type
  readonly body: any
}

export interface Call {
  readonly body?: unknown
  /** Sent unchanged in place of `body`. */
  readonly text?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface TestApi extends AsyncDisposable {
  readonly db: Database
  readonly key: MasterKey
  readonly workspaceId: string
  readonly apiKey: string
  readonly orgKey: string
  /** For tests that need a real socket: `listen(api.fetch, …)`. */
  readonly fetch: Hono["fetch"]
  /** The folder of code that is being compared. */
  readonly comparedCode: string
  readonly other: { readonly workspaceId: string; readonly apiKey: string }
  /** Calls as the first workspace, unless the headers say otherwise; `x-api-key: ""` calls without a key. */
  call(method: string, path: string, call?: Call): Promise<Reply>
  /** The same, as the other workspace. */
  callAsOther(method: string, path: string, call?: Call): Promise<Reply>
  /** Creates the example's deployment, with more in its `source_config`. @returns  the reply's body */
  deploy(name?: string, config?: object): Promise<Reply["body"]>
  /** Changes a deployment. @returns  the reply's body */
  change(deploymentId: string, body: object): Promise<Reply["body"]>
  /** Creates an integration with a git host. @returns  the reply's body */
  integrate(name: string, token: string, host?: string): Promise<Reply["body"]>
}

/** More than any test needs. */
export const testQuotas: Amounts = {
  deployments: 200,
  units: 200,
  memory_mb: 1_000_000,
  cpu: 1000,
  builds: 100,
  disk_mb: 100_000,
  host_names: 20,
}

/** Repositories of this computer, and uploaded archives. */
function codeOf(parts: Pick<CodeChangesOptions, "db" | "key" | "log">): CodeChangesOptions {
  return {
    ...parts,
    sources: { git: testGit({ environment: process.env }), archive: archiveSource() },
    limits: { sourceMs: 60_000 },
    folder: join(temporaryFolder(), "compared-code"),
    path: process.env.PATH ?? "",
  }
}

export async function startApi(options: Partial<AppOptions> = {}): Promise<TestApi> {
  const db = await freshDatabase({ migrations })
  await keepLockOrder(db)
  const key = masterKey(randomBytes(32))
  const log = createLog({ process: "control", level: "silent" })
  const code = codeOf({ db, key, log })
  const app = createApp({
    db,
    key,
    log,
    agentsUrl: "http://agents.test:8901",
    gitProtocols: ["https", "ssh"],
    resourceTiers: defaultResourceTiers,
    defaultQuotas: testQuotas,
    consoleFolder: join(temporaryFolder(), "none"),
    docsFolder: join(temporaryFolder(), "none"),
    version: "1.2.3",
    place: { folder: temporaryFolder(), certFile: undefined },
    hostNames: { ownNames: new Set(["agents.test"]), certFile: undefined, hasAuthority: false },
    webhookRules: { allowsLoopback: true, allowsPrivate: false },
    readCodeChanges: codeComparer(code),
    ...options,
  })
  const one = await workspaceWithKey(db, "one")
  const other = await workspaceWithKey(db, "other")
  const org = await createApiKey(db, { workspaceId: null, name: "org" })
  const callWith =
    (apiKey: string) =>
    async (method: string, path: string, { body, text, headers }: Call = {}): Promise<Reply> => {
      const sent = text ?? (body === undefined ? undefined : JSON.stringify(body))
      const init = { method, headers: { "x-api-key": apiKey, ...headers }, ...(sent !== undefined && { body: sent }) }
      return readReply(await app.request(path, init))
    }
  const call = callWith(one.apiKey)
  const succeed = async (method: string, path: string, body: object) => {
    const reply = await call(method, path, { body })
    assert.ok(reply.status < 300, reply.text)
    return reply.body
  }
  return {
    db,
    key,
    ...one,
    orgKey: org.clearKey,
    fetch: app.fetch,
    comparedCode: code.folder,
    other,
    call,
    callAsOther: callWith(other.apiKey),
    deploy: (name, config) => succeed("POST", "/v2/deployments", exampleDeployment(name, config)),
    change: (deploymentId, body) => succeed("PATCH", `/v2/deployments/${deploymentId}`, body),
    integrate: (name, token, host = "github.com") => succeed("POST", "/v2/integrations/git", { name, host, token }),
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  }
}

/**
 * What the tests of a file have in common: it starts before the first of them and ends after the last.
 * @returns  stands for it from the first test on
 */
export function shared<Thing extends AsyncDisposable>(start: () => Promise<Thing>): Thing {
  let thing: Thing | undefined
  before(async () => {
    thing = await start()
  })
  after(() => thing?.[Symbol.asyncDispose]())
  const started = (): Thing => thing ?? assert.fail("it starts before the first test")
  return new Proxy({} as Thing, {
    get: (_, name) => Reflect.get(started(), name),
    set: (_, name, value) => Reflect.set(started(), name, value),
  })
}

/** Some headers of a reply, for a comparison that fits on a line. */
export const headersOf = ({ headers }: { readonly headers: Headers }, ...names: readonly string[]) =>
  names.map((name) => headers.get(name))

/** Of each reply its status and the code of its error: `["403 cross_site"]`. */
export const codesOf = (replies: readonly Reply[]): string[] =>
  replies.map(({ status, body }) => `${status} ${body.code}`)

async function workspaceWithKey(db: Database, name: string) {
  const { workspace_id: workspaceId } = await createWorkspace(db, name)
  const { clearKey: apiKey } = await createApiKey(db, { workspaceId, name: "test" })
  return { workspaceId, apiKey }
}

async function readReply(response: Response): Promise<Reply> {
  const text = await response.text()
  const isJson = response.headers.get("content-type")?.startsWith("application/json") && text !== ""
  assert.ok(response.headers.has("x-request-id"), "every reply has a request id")
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
}

/** The body that creates a deployment of an image. */
export const exampleImage = (name: string) => ({
  name,
  source: "external_docker",
  source_config: { resource_spec: {} },
  source_revision_config: { image_uri: "registry.test/agent:1" },
})

/** The body of the example that creates a deployment (seed, parts 2 and 4). */
export const exampleDeployment = (name = "shop-bot", config: object = {}) => ({
  name,
  source: "github",
  source_config: {
    integration_id: null,
    repo_url: "https://github.com/acme/shop",
    deployment_type: "dev",
    build_on_push: false,
    custom_url: null,
    resource_spec: null,
    ...config,
  },
  source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json", image_uri: null },
  secrets: [{ name: "MODEL_KEY", value: "sk-very-secret" }],
})
