import assert from "node:assert/strict"
import { test } from "node:test"
import { credentialOf, rightOf } from "@superstep/edge/authorise"
import { exampleDeployment, startApi, type TestApi } from "../testing/api.js"
import { keyHashes } from "../workspaces/queries.js"
import { agentTokenKey } from "./agent-tokens.js"
import { fromPage, origin, signIn } from "./testing/sign-in.js"

const deploy = async (api: TestApi, name = "shop-bot"): Promise<string> =>
  (await api.call("POST", "/v2/deployments", { body: exampleDeployment(name) })).body.id

/** What the edge says to a token, with a table made from the database as it is now. */
const rightAt = async (api: TestApi, deploymentId: string, token: string) => {
  const { run, read } = await keyHashes(api.db, api.workspaceId)
  const credential = credentialOf(token, {
    deployment_id: deploymentId,
    token_key: agentTokenKey(api.key, deploymentId).reveal(),
  })
  return credential && rightOf(credential.keyHash, { keys: [...run], read_keys: [...read] })
}

test("a session gets a token for one deployment, with the rights of its key, until that is revoked", async () => {
  await using api = await startApi({ consoleOrigins: [origin] })
  const [id, other] = [await deploy(api), await deploy(api, "other")]
  const { body: key } = await api.call("POST", "/v2/api-keys", { body: { name: "person", scopes: ["run"] } })
  const cookie = await signIn(api, key.key)

  const { status, body, headers } = await api.call("POST", `/v2/deployments/${id}/agent-token`, fromPage(cookie))
  const before = [await rightAt(api, id, body.token), await rightAt(api, other, body.token)]
  await api.call("DELETE", `/v2/api-keys/${key.id}`)

  assert.deepEqual(
    [status, body.scopes, body.url],
    [200, ["read", "run", "approve"], "http://agents.test:8901/d/shop-bot"],
  )
  assert.ok(Date.parse(body.expires_at) - Date.now() <= 600_000)
  assert.equal(headers.get("cache-control"), "no-store")
  assert.deepEqual(before, ["run", undefined])
  assert.equal(await rightAt(api, id, body.token), undefined)
  assert.equal((await api.call("POST", `/v2/deployments/${id}/agent-token`, fromPage(cookie))).status, 401)
})

test("the token of a key that only reads only reads; a key of the installation gets one for the workspace it names", async () => {
  await using api = await startApi()
  const id = await deploy(api)
  const { body: key } = await api.call("POST", "/v2/api-keys", { body: { name: "reader", scopes: ["read"] } })
  const ask = (headers: Record<string, string>) => api.call("POST", `/v2/deployments/${id}/agent-token`, { headers })

  const read = await ask({ "x-api-key": key.key })
  const org = await ask({ "x-api-key": api.orgKey, "x-tenant-id": api.workspaceId })

  assert.deepEqual([read.body.scopes, await rightAt(api, id, read.body.token)], [["read"], "read"])
  assert.deepEqual([org.body.scopes, await rightAt(api, id, org.body.token)], [["read", "run", "approve"], "run"])
  assert.equal(JSON.stringify(org.body).includes(api.orgKey), false)
})

test("a key runs agents when it has the scope run, deploy or admin, and with any other it only reads", async () => {
  await using api = await startApi()
  const rights = { run: "run", deploy: "run", admin: "run", "read run": "run", read: "read", secrets: "read" }

  for (const [scopes, right] of Object.entries({ ...rights, "read secrets": "read" })) {
    const body = { name: scopes, scopes: scopes.split(" ") }
    const { body: key } = await api.call("POST", "/v2/api-keys", { body })
    assert.equal(await rightAt(api, "any", key.key), right, scopes)
  }
})
