import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { fromPage } from "../console/testing/sign-in.js"
import type { GroupRoles } from "./oidc/settings.js"
import { signInIdentified } from "./sign-in-operations.js"
import { invitationOf, passProvider, signInByProvider, startWithProvider } from "./testing/people.js"

test("groups of the provider give and change roles at each sign-in, and take them with the last group (P8)", async () => {
  await using api = await startWithProvider({ one: { staff: "read", devs: "deploy" }, nowhere: { staff: "admin" } })
  const as = (groups: readonly string[], more: object = {}) =>
    api.provider.accounts.set("ann", { email: "ann@example.com", name: "Ann", groups, ...more })
  const rolesNow = async () => {
    const { body } = await api.call("GET", "/v2/members")
    return body.resources.map((it: Record<string, unknown>) => [it.name, it.role, it.by_group])
  }
  const signedIn = async () => {
    const cookie = await signInByProvider(api, "ann")
    return { cookie, roles: await rolesNow() }
  }

  as(["other"])
  const stranger = await passProvider(api, "ann")
  as(["staff", "other", "__proto__"])
  const reader = await signedIn()
  as(["staff", "devs"])
  const deployer = await signedIn()
  // The ID token has the groups, and the userinfo endpoint the address.
  as([], { inIdToken: { groups: ["staff"] }, groups: undefined })
  const lowered = await signedIn()
  as([])
  const left = await passProvider(api, "ann")
  const session = await api.call("GET", "/v2/console/session", fromPage(deployer.cookie))

  assert.equal(stranger.hash, "#problem=not_a_member")
  assert.deepEqual(
    [reader, deployer, lowered].map(({ roles }) => roles),
    ["read", "deploy", "read"].map((role) => [["Ann", role, true]]),
  )
  assert.deepEqual([left.hash, session.status], ["#problem=not_a_member", 401])
  const { body } = await api.call("GET", "/v2/audit-log?resource_type=member")
  assert.deepEqual(
    body.resources.map(({ action, actor_name }: Record<string, unknown>) => [action, actor_name]).reverse(),
    [
      ["joined by group as read", "Ann"],
      ["changed role by group to deploy", "Ann"],
      ["changed role by group to read", "Ann"],
      ["left with the group", "Ann"],
    ],
  )
})

test("a membership by group ends at the next sign-in after the setting names its workspace no more (P8)", async () => {
  await using api = await startWithProvider()
  const path = "/v2/console/oidc/callback"
  const request = { path, ip: undefined, userAgent: undefined, requestId: undefined, tenantId: undefined }
  const signIn = (name: string, groupRoles: GroupRoles, invitation?: string) => {
    const account = { issuer: "https://login.example", subject: name, email: `${name}@example.com`, name }
    const identity = { ...account, isEmailVerified: true, groups: ["staff"] }
    return signInIdentified(api.db, { identity, groupRoles, invitation, request })
  }
  const setting: GroupRoles = { one: { staff: "deploy" } }
  await signIn("ann", setting)
  await signIn("bob", setting, await invitationOf(api, "bob@example.com", "read"))

  await assert.rejects(signIn("ann", {}), { code: "not_a_member" })
  await signIn("bob", {})

  const { body } = await api.call("GET", "/v2/members")
  assert.deepEqual(fieldsOf(body.resources, "name", "role"), [["bob", "read"]])
})

test("a membership by invitation, a role that an admin set and the last admin stay, whatever the groups (P5, P8)", async () => {
  await using api = await startWithProvider({ one: { staff: "read", bosses: "admin" } })
  const groupsOf = (login: string, groups: readonly string[]) =>
    api.provider.accounts.set(login, { email: `${login}@example.com`, email_verified: true, name: login, groups })
  const invitation = await invitationOf(api, "ann@example.com", "approve")
  groupsOf("ann", ["bosses"])
  await signInByProvider(api, "ann", { invitation })
  for (const login of ["bob", "cid"]) {
    groupsOf(login, ["bosses"])
    await signInByProvider(api, login)
  }
  const members = async () => (await api.call("GET", "/v2/members")).body.resources as Record<string, string>[]
  const bob = (await members()).find(({ name }) => name === "bob")
  await api.call("PATCH", `/v2/members/${bob?.person_id}`, { body: { role: "deploy" } })

  for (const login of ["ann", "bob", "cid"]) {
    groupsOf(login, ["staff"])
    await signInByProvider(api, login)
  }

  const roles = (await members()).map(({ name, role, by_group }) => [name, role, by_group])
  assert.deepEqual(roles, [
    ["ann", "approve", false],
    ["bob", "deploy", false],
    ["cid", "admin", true],
  ])
})
