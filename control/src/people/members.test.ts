import assert from "node:assert/strict"
import { test } from "node:test"
import { credentialOf, type Right, rightOf } from "@superstep/edge/authorise"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { agentTokenKey } from "../console/agent-tokens.js"
import { openSessionOf } from "../console/operations.js"
import { cookieOf, fromPage, origin, signIn } from "../console/testing/sign-in.js"
import { exampleDeployment, startApi, type TestApi } from "../testing/api.js"
import { type Role, roles } from "../workspaces/workspace.js"
import { invite, removeMember } from "./operations.js"
import { memberHashes } from "./queries.js"
import { acceptLink, invitationOf, memberWithSession, startWithProvider } from "./testing/people.js"

/** A member of the workspace who has accepted the link of an invitation. */
async function member(api: TestApi, name: string, role: Role, asOther = false) {
  const reply = await acceptLink(api, await invitationOf(api, `${name}@example.com`, role, asOther), name)
  return { cookie: cookieOf(reply), personId: String(reply.body.person.person_id) }
}

const start = () => startApi({ consoleOrigins: [origin] })

test("what a role may not do is refused by the API: each may do what its scopes allow, and no more", async () => {
  await using api = await start()
  const { body: made } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  const path = `/v2/deployments/${made.id}`
  const asked = {
    see: ["GET", path, undefined],
    members: ["GET", "/v2/members", undefined],
    deploy: ["PATCH", path, { display_name: "Shop" }],
    secrets: ["PATCH", path, { secrets: [{ name: "A", value: "b" }] }],
    keys: ["GET", "/v2/api-keys", undefined],
    audit: ["GET", "/v2/audit-log", undefined],
    invite: ["POST", "/v2/invitations", { email: "x@example.com", role: "admin" }],
  } as const
  const may: Record<string, string[]> = {}

  for (const role of roles) {
    const { cookie } = await member(api, role, role)
    for (const [what, [method, at, body]] of Object.entries(asked)) {
      const reply = await api.call(method, at, fromPage(cookie, { body }))
      if (reply.status !== 403) may[role] = [...(may[role] ?? []), what]
      else assert.equal(reply.body.code, "scope_missing")
    }
  }

  const all = Object.keys(asked)
  assert.deepEqual(may, {
    read: ["see", "members"],
    run: ["see", "members"],
    approve: ["see", "members"],
    deploy: ["see", "members", "deploy", "secrets"],
    admin: all,
  })
})

/** What the edge says to a token, with a table made from the database as it is now. */
const rightAt = async (api: TestApi, deploymentId: string, token: string): Promise<Right | undefined> => {
  const tokenKey = agentTokenKey(api.key, deploymentId).reveal()
  const credential = credentialOf(token, { deployment_id: deploymentId, token_key: tokenKey })
  const hashes = (await memberHashes(api.db, [api.workspaceId])).get(api.workspaceId)
  const lists = { keys: hashes?.approve ?? [], read_keys: hashes?.read ?? [], no_approval_keys: hashes?.run ?? [] }
  return credential && rightOf(credential.keyHash, lists)
}

test("a token for an agent says whose it is, has the rights of the role at that moment, and ends with the membership (P6)", async () => {
  await using api = await start()
  const { body: made } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  await member(api, "boss", "admin")
  const { cookie, personId } = await member(api, "ann", "run")

  const { body } = await api.call("POST", `/v2/deployments/${made.id}/agent-token`, fromPage(cookie))
  const rights = [await rightAt(api, made.id, body.token)]
  for (const role of ["approve", "deploy", "admin", "run"]) {
    await api.call("PATCH", `/v2/members/${personId}`, { body: { role } })
    rights.push(await rightAt(api, made.id, body.token))
  }
  // A lower role ends what is open with the former one: a new token has the rights of the new one.
  const { body: fresh } = await api.call("POST", `/v2/deployments/${made.id}/agent-token`, fromPage(cookie))
  rights.push(await rightAt(api, made.id, fresh.token))
  await api.call("DELETE", `/v2/members/${personId}`)
  rights.push(await rightAt(api, made.id, fresh.token))

  assert.deepEqual(body.scopes, ["read", "run"])
  assert.deepEqual(rights, ["run without approval", "run", "run", "run", undefined, "run without approval", undefined])
  const place = { deployment_id: made.id, token_key: agentTokenKey(api.key, made.id).reveal() }
  assert.deepEqual(credentialOf(body.token, place)?.person, {
    person_id: personId,
    name: "ann",
    email: "ann@example.com",
  })
})

test("a removed member loses everything at once, and finds no old session after a new invitation (P6)", async () => {
  await using api = await startWithProvider()
  const { cookie, personId } = await memberWithSession(api, "ann", "deploy")
  const ask = () => api.call("GET", "/v2/deployments", fromPage(cookie))
  const before = await ask()

  const removed = await api.call("DELETE", `/v2/members/${personId}`)
  const after = await ask()
  const sessions = await api.db.rows(sql`select from console_sessions`)
  const back = await memberWithSession(api, "ann", "read")

  assert.deepEqual([before.status, removed.status, after.status, sessions.length], [200, 204, 401, 0])
  assert.deepEqual([(await ask()).status, back.personId], [401, personId])
})

test("an admin who loses the role, or is removed, leaves no way back in: no invitation and no code (P7)", async () => {
  await using api = await start()
  const boss = await member(api, "boss", "admin")
  const invitedBy = async (cookie: string, email: string) => {
    const reply = await api.call("POST", "/v2/invitations", fromPage(cookie, { body: { email, role: "admin" } }))
    return String(reply.body.url).split("=")[1] ?? ""
  }
  const outcomes: unknown[] = []

  for (const [name, end] of [
    ["ann", (id: string) => api.call("PATCH", `/v2/members/${id}`, { body: { role: "read" } })],
    ["bob", (id: string) => api.call("DELETE", `/v2/members/${id}`)],
  ] as const) {
    const { cookie, personId } = await member(api, name, "admin")
    const own = await invitedBy(boss.cookie, `${name}@example.com`)
    const friend = await invitedBy(cookie, `friend-of-${name}@example.com`)
    const kept = await invitedBy(boss.cookie, `colleague-of-${name}@example.com`)
    const code = await api.call("POST", "/v2/console/codes", fromPage(cookie))
    await end(personId)
    const left = []
    for (const token of [own, friend, kept]) left.push((await acceptLink(api, token, "Somebody")).status)
    outcomes.push([code.status, code.body.code, left])
  }

  assert.deepEqual(outcomes, Array(2).fill([403, "key_required", [401, 401, 201]]))
})

test("an invitation of an admin that arrives while the membership ends is refused (P7)", async () => {
  await using api = await start()
  await member(api, "boss", "admin")
  const { personId } = await member(api, "ann", "admin")
  const invitedBy = { personId, name: "ann", email: "ann@example.com" }
  const wanted = { workspaceId: api.workspaceId, email: "friend@example.com", role: "admin", invitedBy } as const

  await api.call("DELETE", `/v2/members/${personId}`)

  await assert.rejects(
    api.db.transaction((tx) => invite(tx, wanted)),
    { code: "scope_missing" },
  )
})

test("a session that opens while the last membership ends does not remain for a later one (P6)", async () => {
  await using api = await start()
  await member(api, "boss", "admin")
  const { personId } = await member(api, "ann", "admin")
  const request = { path: "/", ip: undefined, userAgent: undefined, requestId: undefined, tenantId: undefined }
  const open = () => api.db.transaction((tx) => openSessionOf(tx, { personId }, { formerIds: [], request }))
  const isBlocked = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

  const opening = await api.db.transaction(async (tx) => {
    await removeMember(tx, api.workspaceId, personId)
    let hasEnded = false
    const opened = open().finally(() => {
      hasEnded = true
    })
    await until(async () => hasEnded || (await api.db.row(isBlocked)) !== undefined, { what: "the sign-in" })
    return { opened }
  })

  assert.equal(await opening.opened, undefined)
  assert.deepEqual(await api.db.rows(sql`select from console_sessions where person_id = ${personId}`), [])
})

test("a person of two workspaces names one with each request, and keeps one when the other removes them", async () => {
  await using api = await startWithProvider()
  const first = await memberWithSession(api, "ann", "read")
  const { cookie, personId, session } = await memberWithSession(api, "ann", "admin", true)
  const ask = (tenant?: string, method = "GET", path = "/v2/api-keys") =>
    api.call(method, path, fromPage(cookie, tenant === undefined ? {} : { headers: { "x-tenant-id": tenant } }))

  const vague = await ask()
  const [here, there] = [await ask(api.workspaceId), await ask(api.other.workspaceId)]
  const nowhere = await ask("00000000-0000-4000-8000-000000000000")
  await api.call("DELETE", `/v2/members/${personId}`)
  const left = [await ask(api.workspaceId), await ask(api.other.workspaceId), await ask()]

  assert.equal(first.personId, personId)
  assert.deepEqual(
    session.workspaces.map((it: { role: string }) => it.role),
    ["read", "admin"],
  )
  assert.deepEqual([vague.status, vague.body.code], [403, "workspace_required"])
  assert.deepEqual([here.status, there.status, nowhere.status], [403, 200, 403])
  assert.deepEqual([here.body.code, nowhere.body.code], ["scope_missing", "forbidden"])
  assert.deepEqual(fieldsOf(left, "status"), [403, 200, 200])
})

test("the last admin keeps role and membership, also when two admins are removed at once (P5)", async () => {
  await using api = await start()
  const [ann, bob] = [await member(api, "ann", "admin"), await member(api, "bob", "admin")]
  const remove = (personId: string) => api.call("DELETE", `/v2/members/${personId}`)

  const both = await Promise.all([remove(ann.personId), remove(bob.personId)])
  const [left] = (await api.call("GET", "/v2/members")).body.resources
  const demoted = await api.call("PATCH", `/v2/members/${left.person_id}`, { body: { role: "read" } })
  const same = await api.call("PATCH", `/v2/members/${left.person_id}`, { body: { role: "admin" } })

  assert.deepEqual(both.map(({ status }) => status).sort(), [204, 409])
  assert.deepEqual([demoted.status, demoted.body.code, same.status], [409, "last_admin", 200])
})

test("a person sees and ends their own sessions; an admin those of the workspace, and nobody those of another", async () => {
  await using api = await start()
  const ann = await member(api, "ann", "run")
  const again = await member(api, "ann", "run")
  const boss = await member(api, "boss", "admin")
  const stranger = await member(api, "zoe", "admin", true)
  const keySession = await signIn(api, api.apiKey)
  const list = async (cookie: string) =>
    (await api.call("GET", "/v2/console/sessions", fromPage(cookie))).body.resources as {
      id: string
      is_own: boolean
      person: { email: string } | null
      key_prefix: string | null
    }[]
  const end = async (cookie: string, id: string | undefined) =>
    (await api.call("DELETE", `/v2/console/sessions/${id}`, fromPage(cookie))).status
  const alive = async (cookie: string) => (await api.call("GET", "/v2/deployments", fromPage(cookie))).status

  const [own, all, foreign] = [await list(ann.cookie), await list(boss.cookie), await list(stranger.cookie)]
  const bosses = all.find(({ person }) => person?.email === "boss@example.com")
  const ofKey = all.find(({ key_prefix }) => key_prefix !== null)
  const refused = [
    await end(ann.cookie, bosses?.id),
    await end(stranger.cookie, bosses?.id),
    await end(ann.cookie, ofKey?.id),
  ]
  const current = (await api.call("GET", "/v2/console/session", fromPage(ann.cookie))).body.session_id
  const ended = [await end(again.cookie, current), await end(boss.cookie, ofKey?.id)]

  assert.deepEqual([own.map((it) => it.is_own), all.length, foreign.length], [[true, true], 4, 1])
  assert.deepEqual(
    [refused, ended],
    [
      [404, 404, 404],
      [204, 204],
    ],
  )
  assert.deepEqual(
    [await alive(ann.cookie), await alive(again.cookie), await alive(keySession), await alive(boss.cookie)],
    [401, 200, 401, 200],
  )
})

test("the audit log names the person, the thing and the fields that changed; a revision names who deployed it", async () => {
  await using api = await start()
  const { cookie, personId } = await member(api, "ann", "deploy")
  const { body: made } = await api.call("POST", "/v2/deployments", fromPage(cookie, { body: exampleDeployment() }))
  const path = `/v2/deployments/${made.id}`
  await api.call("PATCH", path, fromPage(cookie, { body: { source_config: { build_on_push: true } } }))
  await api.call("PATCH", `/v2/members/${personId}`, { body: { role: "admin" } })

  const { body } = await api.call("GET", `/v2/audit-log?limit=10`)
  const byPerson = await api.call("GET", `/v2/audit-log?actor=person:${personId}`)
  const revisions = await api.call("GET", `${path}/revisions`)
  const { body: chain } = await api.call("GET", "/v2/audit-log/verification")

  const said = body.resources.map((it: Record<string, unknown>) => [
    it.actor_name,
    it.action,
    it.resource_name,
    it.changed,
  ])
  assert.deepEqual(said.slice(0, 3), [
    [null, "PATCH /v2/members/{person_id}", "ann@example.com", ["role"]],
    ["ann", "PATCH /v2/deployments/{deployment_id}", "shop-bot", ["source_config.build_on_push", "version"]],
    ["ann", "POST /v2/deployments", "shop-bot", null],
  ])
  assert.deepEqual(
    said.slice(3).map(([name, action]: string[]) => [name, action]),
    [
      ["ann", "POST /v2/console/sessions"],
      ["ann", "accepted invitation"],
      [null, "POST /v2/invitations"],
    ],
  )
  assert.equal(byPerson.body.resources.length, 4)
  assert.equal(revisions.body.resources[0].actor, `person:${personId}`)
  assert.equal(chain.valid, true)
})
