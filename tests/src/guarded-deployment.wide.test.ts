/** A deployment whose project has access rules: the platform's key opens the door, the project's rules say who is in. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { deploy, startRevision, untilEnded } from "./testing/deployments.js"
import { startPlatform } from "./testing/platform.js"
import { createRepository } from "./testing/repository.js"

const auth = `
import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth"

export const auth = new Auth()
  .authenticate((request) => {
    const name = request.headers.get("authorization")?.split(" ")[1]
    if (name === undefined) throw new HTTPException(401, { message: "Who are you?" })
    return name
  })
  .on("threads", ({ value, user }) => {
    Object.assign(value, { metadata: { ...value.metadata, owner: user.identity } })
    return { owner: user.identity }
  })
`

const config = {
  node_version: "20",
  graphs: { chat: "./src/chat.ts:graph" },
  auth: { path: "./src/auth.ts:auth" },
}

test("behind the edge both the workspace's key and the project's rules hold", async (t) => {
  await using platform = await startPlatform()
  const repository = await createRepository()
  await repository.push({ "langgraph.json": JSON.stringify(config), "src/auth.ts": auth })
  const deployment = await deploy(platform, "guarded", repository.url)
  const url = deployment.source_config.custom_url
  const key = { "x-api-key": platform.credentials.api_key }
  const send = (path: string, headers: Record<string, string>, body?: object) =>
    fetch(`${url}${path}`, {
      method: body ? "POST" : "GET",
      headers: { "content-type": "application/json", ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })

  await t.test("neither alone is enough", async () => {
    assert.equal((await send("/threads", { authorization: "Bearer ada" }, {})).status, 401)
    const unknown = await send("/threads", key, {})
    assert.equal(unknown.status, 401)
    assert.match(await unknown.text(), /Who are you\?/)
    assert.equal((await send("/threads", { ...key, "x-auth-scheme": "langsmith" }, {})).status, 401)
  })

  await t.test("the console is the studio user to the rules, and no header makes anybody else that user", async () => {
    const tokenFor = async (apiKey: string) => {
      const made = await platform.api<{ token: string }>(
        "POST",
        `/v2/deployments/${deployment.id}/agent-token`,
        undefined,
        {
          "x-api-key": apiKey,
        },
      )
      return { "x-api-key": made.body.token }
    }
    const reads = await platform.api<{ key: string }>("POST", "/v2/api-keys", { name: "reads", scopes: ["read"] })
    const attack = { "x-superstep-console": "1", "x-auth-scheme": "langsmith" }
    const search = async (headers: Record<string, string>) => (await send("/threads/search", headers, {})).status

    const own = await send("/threads", await tokenFor(platform.credentials.api_key), {})
    const { metadata } = (await own.json()) as { metadata: object }
    assert.deepEqual(metadata, { owner: "langgraph-studio-user" })
    assert.equal(await search({ ...key, ...attack }), 401)
    assert.equal(await search(await tokenFor(reads.body.key)), 401)
    assert.equal(await search({ ...(await tokenFor(reads.body.key)), ...attack }), 401)
  })

  await t.test("a revision whose rules do not load fails with the reason, and the one before serves on", async () => {
    await repository.push({ "src/auth.ts": "throw new Error('no provider is configured')\n" })
    const revision = await untilEnded(platform, deployment.id, await startRevision(platform, deployment.id))

    assert.equal(revision.error_code, "graph_load_failed")
    assert.match(revision.status_message ?? "", /auth\.path does not load: Error: no provider is configured/)
    assert.equal((await send("/threads", key, {})).status, 401)
    assert.equal((await send("/threads", { ...key, authorization: "Bearer ada" }, {})).status, 200)
  })
})
