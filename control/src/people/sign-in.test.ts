import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { cookieOf, fromPage, origin } from "../console/testing/sign-in.js"
import { codesOf, startApi } from "../testing/api.js"
import { oidcSettings } from "./oidc/settings.js"
import { signInAt, startProvider } from "./testing/oidc-provider.js"
import {
  acceptLink,
  beginSignIn,
  invitationOf,
  memberWithSession,
  passProvider,
  returnFromProvider,
  signInByProvider,
  startWithProvider,
} from "./testing/people.js"

test("an invited person signs in at a real provider, with the role of the invitation, and again without one (P2, P3)", async () => {
  await using api = await startWithProvider()
  api.provider.accounts.set("ann", { email: "Ann@Example.com", email_verified: true, name: "Ann Ångström" })
  const ways = await api.call("GET", "/v2/console/sign-in", { headers: { "x-api-key": "" } })

  const invitation = await invitationOf(api, "ann@example.com", "approve")
  const first = await signInByProvider(api, "ann", { invitation })
  api.provider.accounts.set("ann", { email: "ann@new.example", name: "Ann Berg" })
  const again = await signInByProvider(api, "ann")
  const before = await api.call("GET", "/v2/console/session", fromPage(first))
  const after = await api.call("GET", "/v2/console/session", fromPage(again))

  assert.deepEqual(ways.body, { provider: { name: "Example Login" } })
  assert.deepEqual(after.body.person, { ...before.body.person, email: "ann@new.example", name: "Ann Berg" })
  assert.deepEqual([after.body.key_prefix, after.body.is_operator], [null, false])
  const workspace = { workspace_id: api.workspaceId, name: "one", role: "approve", scopes: ["read", "run"] }
  assert.deepEqual(after.body.workspaces, [{ ...workspace, may_approve: true }])
  assert.equal((await api.call("GET", "/v2/deployments", fromPage(again))).status, 200)
  assert.equal((await api.db.rows(sql`select from people`)).length, 1)
})

test("the browser returns to the page that it came from, if its address fits into a cookie, and to no other site", async () => {
  await using api = await startWithProvider()
  await memberWithSession(api, "ann", "read")

  const end = await passProvider(api, "ann", { next: "/deployments/1?tab=runs" })
  const foreign = await passProvider(api, "ann", { next: "https://evil.example/" })

  // The page itself follows only paths (console/src/sign-in/address.test.ts).
  assert.deepEqual(
    [end.origin, end.pathname, end.searchParams.get("next")],
    [origin, "/sign-in", "/deployments/1?tab=runs"],
  )
  assert.deepEqual([foreign.origin, foreign.pathname], [origin, "/sign-in"])

  const { cookie } = await beginSignIn(api, { next: `/${"€".repeat(1999)}` })
  const [long, short] = [
    await passProvider(api, "ann", { next: `/${"€".repeat(1999)}` }),
    await passProvider(api, "ann", { next: "/x" }),
  ]

  assert.ok(cookie.length <= 4096, String(cookie.length))
  assert.deepEqual([long.search, short.search], ["", "?next=%2Fx"])
  assert.match(long.hash, /^#code=/)
})

test("who was not invited gets neither an account nor a session, the link alone signs nobody in, and an invitation of another address stays open (P3)", async () => {
  await using api = await startWithProvider()
  api.provider.accounts.set("eve", { email: "eve@example.com", email_verified: true })
  api.provider.accounts.set("zoe", { email: "zoe@example.com", email_verified: false })
  const [forAnn, forZoe] = [
    await invitationOf(api, "ann@example.com", "admin"),
    await invitationOf(api, "zoe@example.com", "run"),
  ]

  const ends = [
    await passProvider(api, "eve"),
    await passProvider(api, "eve", { invitation: forAnn }),
    await passProvider(api, "eve", { invitation: `${forAnn}x` }),
    await passProvider(api, "zoe", { invitation: forZoe }),
  ]

  assert.deepEqual(
    fieldsOf(ends, "hash"),
    ["not_a_member", "invitation_of_another", "invitation_invalid", "email_unverified"].map(
      (code) => `#problem=${code}`,
    ),
  )
  assert.deepEqual(await api.db.rows(sql`select from people`), [])
  assert.equal((await api.call("GET", "/v2/invitations")).body.resources.length, 2)

  const invitation = await invitationOf(api, "ann@example.com", "admin")

  const reply = await acceptLink(api, invitation, "Eve")

  assert.deepEqual([reply.status, reply.body.code, reply.headers.get("set-cookie")], [409, "provider_required", null])
})

test("a sign-in ends only in the browser that began it, once, with the state and the code that belong to it (P3)", async () => {
  await using api = await startWithProvider()
  await memberWithSession(api, "ann", "read")
  const [one, other] = [await beginSignIn(api), await beginSignIn(api)]
  const back = await signInAt(one.url, "ann")
  const end = async (search: string, cookie?: string) => {
    const headers = { "x-api-key": "", ...(cookie && { cookie }) }
    const reply = await api.call("GET", `/v2/console/oidc/callback${search}`, { headers })
    assert.equal(reply.status, 303)
    assert.match(reply.headers.get("set-cookie") ?? "", /^superstep_oidc=; .*Max-Age=0/)
    return new URL(reply.headers.get("location") ?? "", origin).hash
  }
  const failed = "#problem=sign_in_failed"
  const otherState = new URLSearchParams(back.search)
  otherState.set("state", new URL(other.url).searchParams.get("state") ?? "")
  const otherIssuer = new URLSearchParams(back.search)
  otherIssuer.set("iss", "https://evil.example")

  const refused = [
    await end(back.search),
    await end(back.search, other.cookie),
    await end(back.search, `${one.cookie}x`),
    await end(back.search, `${one.cookie}; ${other.cookie}`),
    await end(`?${otherState}`, one.cookie),
    await end(`?${otherState}`, other.cookie),
    await end(`?${otherIssuer}`, one.cookie),
    await end("?error=access_denied", one.cookie),
    await end("", one.cookie),
  ]

  assert.deepEqual(refused, Array(9).fill(failed))
  const asked = new URL(one.url).searchParams
  assert.deepEqual([asked.get("code_challenge_method"), asked.get("response_type")], ["S256", "code"])
  assert.ok((asked.get("nonce") ?? "").length > 40 && (asked.get("state") ?? "").length > 40)
  assert.match(await end(back.search, one.cookie), /^#code=/)
  assert.equal(await end(back.search, one.cookie), failed, "the provider takes a code once")
})

test("the code of a sign-in works only in the browser that returned from the provider: a link with it signs nobody in (C3)", async () => {
  await using api = await startWithProvider()
  await memberWithSession(api, "ann", "read")
  const [mine, other] = [await returnFromProvider(api, "ann"), await returnFromProvider(api, "ann")]
  const code = mine.end.hash.replace("#code=", "")
  const send = async (cookie: string) => {
    const headers = { "x-api-key": "", origin, ...(cookie && { cookie }) }
    return (await api.call("POST", "/v2/console/sessions", { body: { code }, headers })).status
  }

  const stolen = [await send(""), await send(other.cookie), await send(`${mine.cookie}; ${other.cookie}`)]

  assert.deepEqual(stolen, [401, 401, 401])
  assert.deepEqual([await send(mine.cookie), await send(mine.cookie)], [201, 401])
})

test("an address counts that the provider shows as it is, and of which it says true, or nothing", async () => {
  await using api = await startWithProvider()
  const unverified = "#problem=email_unverified"
  const at = (login: string) => `${login}@example.com`
  for (const [login, account, end] of [
    ["a", { email: at("a"), email_verified: "false" }, unverified],
    ["b", { email: at("b"), email_verified: 1 }, unverified],
    ["c", { email: at("c"), email_verified: null }, unverified],
    ["d", { email: at("d"), email_verified: "true" }, "#code"],
    ["e", { email: at("e") }, "#code"],
    // The ID token does not hide what the userinfo endpoint says.
    ["f", { email: at("f"), email_verified: false, inIdToken: { email: at("f") } }, unverified],
    ["g", { email: `\u202e${at("g")}`, email_verified: true }, "#problem=sign_in_failed"],
  ] as const) {
    api.provider.accounts.set(login, account)
    const { hash } = await passProvider(api, login, { invitation: await invitationOf(api, at(login), "read") })
    assert.equal(hash.replace(/code=.*/, "code"), end, login)
  }
})

test("the addresses of Entra ID for any organization are refused as provider", () => {
  const issuerIs = (issuer: string) => oidcSettings.oidcIssuer.schema.safeParse(issuer).success
  const entra = (tenant: string) => `https://login.microsoftonline.com/${tenant}/v2.0`

  assert.deepEqual(
    ["common", "organizations", "Common", "consumers", "11111111-2222-4333-8444-555555555555"].map((it) =>
      issuerIs(entra(it)),
    ),
    [false, false, false, false, true],
  )
  assert.equal(issuerIs("https://login.example.com/common"), true)
})

test("only a page of the console begins a sign-in, and its cookie is for the callback alone", async () => {
  await using api = await startWithProvider()
  const begin = (headers: Record<string, string>) =>
    api.call("POST", "/v2/console/oidc", { body: {}, headers: { "x-api-key": "", ...headers } })

  const [own, foreign, none, otherHost] = [
    await begin({ origin }),
    await begin({ origin: "https://evil.example" }),
    await begin({}),
    await begin({ origin: "http://evil.example", host: "evil.example" }),
  ]

  assert.deepEqual(codesOf([foreign, none, otherHost]), ["403 cross_site", "403 cross_site", "403 foreign_host"])
  const cookie = own.headers.get("set-cookie") ?? ""
  assert.match(cookie, /^superstep_oidc=[\w.-]+; Path=\/v2\/console\/oidc; HttpOnly; SameSite=Lax; Max-Age=600$/)
  assert.equal(new URL(own.body.url).searchParams.get("redirect_uri"), `${origin}/v2/console/oidc/callback`)
})

test("a provider that does not answer is 503, and is asked again at the next sign-in", async () => {
  const provider = await startProvider()
  provider.serve([`${origin}/v2/console/oidc/callback`])
  await provider[Symbol.asyncDispose]()
  await using api = await startApi({ consoleOrigins: [origin], oidcProvider: provider.settings })
  const begin = () => api.call("POST", "/v2/console/oidc", { body: {}, headers: { "x-api-key": "", origin } })

  const [first, second] = [await begin(), await begin()]

  assert.deepEqual([first.status, second.status], [503, 503])
  assert.match(first.body.detail[0]?.msg ?? JSON.stringify(first.body), /Example Login does not answer/)
})

test("without a provider the link signs in, once; a new link is for the same account (P2, P4)", async () => {
  await using api = await startApi({ consoleOrigins: [origin] })
  const old = await invitationOf(api, "ann@example.com", "deploy")
  const invitation = await invitationOf(api, "Ann@Example.com", "deploy")
  const ways = await api.call("GET", "/v2/console/sign-in", { headers: { "x-api-key": "" } })

  const replaced = await acceptLink(api, old, "Ann")
  const first = await acceptLink(api, invitation, "Ann")
  const again = await acceptLink(api, invitation, "Ann")
  const later = await acceptLink(api, await invitationOf(api, "ann@example.com", "admin"), "Ann Berg")

  assert.deepEqual(ways.body, { provider: null })
  assert.deepEqual([replaced.status, first.status, again.status, later.status], [401, 201, 401, 201])
  assert.deepEqual(
    [first.body.person.email, later.body.person],
    ["ann@example.com", { ...first.body.person, name: "Ann Berg" }],
  )
  // A role changes by an admin's PATCH, not by a further invitation.
  assert.equal(later.body.workspaces[0].role, "deploy")
  assert.equal((await api.call("GET", "/v2/deployments", fromPage(cookieOf(later)))).status, 200)
})

test("a link of another workspace for the same address is another account (P4)", async () => {
  await using api = await startApi({ consoleOrigins: [origin] })

  const here = await acceptLink(api, await invitationOf(api, "ann@example.com", "admin"), "Ann")
  const there = await acceptLink(api, await invitationOf(api, "ann@example.com", "read", true), "Not Ann")

  assert.notEqual(here.body.person.person_id, there.body.person.person_id)
  assert.deepEqual(
    there.body.workspaces.map((it: { name: string }) => it.name),
    ["other"],
  )
})

test("an invitation ends when it is withdrawn and after seven days; only its hash is stored (P2)", async () => {
  await using api = await startApi({ consoleOrigins: [origin] })
  const withdrawn = await invitationOf(api, "ann@example.com", "run")
  const late = await invitationOf(api, "bob@example.com", "run")
  const { body } = await api.call("GET", "/v2/invitations")
  const of = (email: string) => body.resources.find((it: { email: string }) => it.email === email)
  const stored = JSON.stringify(await api.db.rows(sql`select * from invitations`))
  const days =
    (Date.parse(of("bob@example.com").expires_at) - Date.parse(of("bob@example.com").created_at)) / 86_400_000

  const gone = await api.call("DELETE", `/v2/invitations/${of("ann@example.com").id}`)
  await api.db.run(sql`update invitations set expires_at = now() where email = 'bob@example.com'`)
  const replies = [await acceptLink(api, withdrawn, "Ann"), await acceptLink(api, late, "Bob")]

  assert.deepEqual([gone.status, days], [204, 7])
  assert.deepEqual(codesOf(replies), Array(2).fill("401 invitation_invalid"))
  assert.equal(stored.includes(withdrawn) || stored.includes(late) || JSON.stringify(body).includes(late), false)
  assert.deepEqual((await api.call("GET", "/v2/invitations")).body.resources, [])
})
