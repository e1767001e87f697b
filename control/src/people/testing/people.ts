/** For tests: people who are invited, sign in and work in the console. */
import assert from "node:assert/strict"
import { cookieOf, fromPage, origin } from "../../console/testing/sign-in.js"
import { type Reply, startApi, type TestApi } from "../../testing/api.js"
import type { Role } from "../../workspaces/workspace.js"
import type { GroupRoles } from "../oidc/settings.js"
import { signInAt, startProvider, type TestProvider } from "./oidc-provider.js"

export interface ApiWithProvider extends TestApi {
  readonly provider: TestProvider
}

/** An API whose people sign in at a real provider. */
export async function startWithProvider(groupRoles: GroupRoles = {}): Promise<ApiWithProvider> {
  const provider = await startProvider()
  provider.serve([`${origin}/v2/console/oidc/callback`])
  const api = await startApi({ consoleOrigins: [origin], oidcProvider: { ...provider.settings, groupRoles } })
  return {
    ...api,
    provider,
    [Symbol.asyncDispose]: async () => {
      await api[Symbol.asyncDispose]()
      await provider[Symbol.asyncDispose]()
    },
  }
}

const anonymous = { "x-api-key": "", origin }

/** @returns  the token in the link of a new invitation */
export async function invitationOf(api: TestApi, email: string, role: Role, asOther = false): Promise<string> {
  const call = asOther ? api.callAsOther : api.call
  const reply = await call("POST", "/v2/invitations", { body: { email, role } })
  assert.equal(reply.status, 201, reply.text)
  const [, token = ""] = /^http:\/\/localhost\/sign-in#invitation=([\w-]{43})$/.exec(reply.body.url) ?? []
  assert.notEqual(token, "", reply.body.url)
  return token
}

/** Begins a sign-in. @returns  where the page goes, and the browser's cookie */
export async function beginSignIn(api: TestApi, body: object = {}): Promise<{ url: string; cookie: string }> {
  const reply = await api.call("POST", "/v2/console/oidc", { body, headers: anonymous })
  assert.equal(reply.status, 200, reply.text)
  const [cookie = ""] = (reply.headers.get("set-cookie") ?? "").split(";")
  return { url: reply.body.url, cookie }
}

/** Where the control plane sends a browser at the end. */
export interface Returned {
  readonly end: URL
  /** By which the browser shows that it has returned; empty after a failure. */
  readonly cookie: string
}

/** The way of a browser through the provider and back. */
export async function returnFromProvider(api: TestApi, login: string, body: object = {}): Promise<Returned> {
  const { url, cookie } = await beginSignIn(api, body)
  const back = await signInAt(url, login)
  const reply = await api.call("GET", `${back.pathname}${back.search}`, { headers: { "x-api-key": "", cookie } })
  assert.equal(reply.status, 303, reply.text)
  const [returned = ""] = reply.headers.getSetCookie().filter((it) => it.startsWith("superstep_returned="))
  return { end: new URL(reply.headers.get("location") ?? "", origin), cookie: returned.split(";")[0] ?? "" }
}

/** @returns  where the control plane sends the browser at the end */
export const passProvider = async (api: TestApi, login: string, body: object = {}): Promise<URL> =>
  (await returnFromProvider(api, login, body)).end

/** Signs in at the provider. @returns  the cookie of the new session */
export async function signInByProvider(api: TestApi, login: string, body: object = {}): Promise<string> {
  const { end, cookie } = await returnFromProvider(api, login, body)
  const [, code = ""] = /^#code=([\w-]{43})$/.exec(end.hash) ?? []
  assert.notEqual(code, "", end.href)
  return cookieOf(await api.call("POST", "/v2/console/sessions", { body: { code }, headers: { ...anonymous, cookie } }))
}

/** A new member who has signed in at the provider. */
export async function memberWithSession(api: ApiWithProvider, login: string, role: Role, asOther = false) {
  const email = `${login}@example.com`
  api.provider.accounts.set(login, { email, email_verified: true, name: `${login[0]?.toUpperCase()}${login.slice(1)}` })
  const invitation = await invitationOf(api, email, role, asOther)
  const cookie = await signInByProvider(api, login, { invitation })
  const { body } = await api.call("GET", "/v2/console/session", fromPage(cookie))
  return { cookie, personId: String(body.person.person_id), session: body }
}

/** Accepts an invitation where no provider is set. */
export const acceptLink = (api: TestApi, invitation: string, name: string, headers = {}): Promise<Reply> =>
  api.call("POST", "/v2/console/invitation", { body: { invitation, name }, headers: { ...anonymous, ...headers } })
