import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { exampleDeployment, startApi } from "../testing/api.js"

test("a reply has a request id, the caller's if it is plain, otherwise a new one; an error has a message, a code and that id", async () => {
  await using api = await startApi()
  const idFor = async (id: string) =>
    (await api.call("GET", "/v2/deployments", { headers: { "x-request-id": id } })).headers.get("x-request-id")

  assert.equal(await idFor("ci-42:a.b"), "ci-42:a.b")
  for (const odd of ["", "a b", "<script>", "x".repeat(129)]) assert.match((await idFor(odd)) ?? "", /^[0-9a-f-]{36}$/)

  const reply = await api.call("GET", "/v2/deployments/x", { headers: { "x-request-id": "r1" } })

  assert.deepEqual(reply.body, {
    detail: [{ loc: ["path", "deployment_id"], msg: "expected a UUID", type: "value_error" }],
    code: "invalid_input",
    doc_url: "docs/errors.md#invalid_input",
    request_id: "r1",
  })
})

test("a wrong method is 405 with the allowed ones, an unknown path is 404, and a body over the limit 413", async () => {
  await using api = await startApi()
  const id = "00000000-0000-4000-8000-000000000000"
  const wrong: [method: string, path: string, allow: string][] = [
    ["PUT", "/v2/deployments", "DELETE, GET, POST, HEAD"],
    ["PATCH", "/api-host/v2/deployments", "DELETE, GET, POST, HEAD"],
    ["POST", `/v2/deployments/${id}`, "DELETE, GET, PATCH, HEAD"],
    ["PATCH", `/v2/deployments/${id}/revisions/${id}`, "GET, HEAD"],
    ["GET", `/v1/projects/${id}/deploy_logs`, "POST"],
    ["POST", "/health", "GET, HEAD"],
  ]
  for (const [method, path, allow] of wrong) {
    const reply = await api.call(method, path)

    assert.equal(reply.status, 405, `${method} ${path}`)
    assert.equal(reply.headers.get("allow"), allow)
    assert.equal(reply.body.code, "method_not_allowed")
  }
  for (const path of ["/v2", "/v2/deploymentsx", "/v3/deployments", `/v2/deployments/${id}/other`]) {
    const reply = await api.call("GET", path)

    assert.equal(reply.status, 404, path)
    assert.equal(reply.body.detail, "Not Found")
  }

  const text = JSON.stringify({ ...exampleDeployment(), padding: "x".repeat(1024 * 1024) })

  const reply = await api.call("POST", "/v2/deployments", { text })
  const declared = await api.call("POST", "/v2/deployments", { text: "{}", headers: { "content-length": "9999999" } })

  assert.deepEqual([reply.status, declared.status], [413, 413])
  assert.equal(reply.body.code, "too_large")
})

test("health is 503 while the control plane starts or stops, and warns of what fails in the background; requests are refused while it stops", async () => {
  const problem = "planning fails for 1 min"
  await using stopping = await startApi({ isStopping: () => true })
  await using starting = await startApi({ isStarting: () => true })
  await using failing = await startApi({ failing: () => [problem] })
  await using well = await startApi()
  const all = [stopping, starting, failing, well]

  const replies = await Promise.all(all.map((api) => api.call("GET", "/v2/deployments")))
  const healths = await Promise.all(all.map((api) => api.call("GET", "/health", { headers: { "x-api-key": "" } })))

  assert.deepEqual(fieldsOf(replies, "status"), [503, 200, 200, 200])
  assert.equal(replies[0]?.headers.get("retry-after"), "2")
  assert.deepEqual(fieldsOf(healths, "status"), [503, 503, 200, 200])
  assert.deepEqual(fieldsOf(healths, "body").slice(2), [{ status: "ok", warnings: [problem] }, { status: "ok" }])
})

test("the reference page loads nothing", async () => {
  await using api = await startApi()

  const page = await api.call("GET", "/api-host/docs", { headers: { "x-api-key": "" } })

  assert.match(page.headers.get("content-type") ?? "", /^text\/html/)
  assert.ok(!/<script|https?:\/\//.test(page.text))
})

test("the document lists Idempotency-Key exactly where requests can be repeated (CP-D11)", async () => {
  await using api = await startApi()
  const { body: document } = await api.call("GET", "/openapi.json")
  const unusual = Object.entries<Record<string, { parameters?: { name: string }[] }>>(document.paths).flatMap(
    ([path, item]) =>
      Object.entries(item).flatMap(([method, { parameters = [] }]) => {
        // A repeated deletion has no further effect, except where it deploys.
        const hasKey = parameters.some(({ name }) => name === "Idempotency-Key")
        return method !== "get" && hasKey === (method === "delete") ? [`${method} ${path}`] : []
      }),
  )

  assert.deepEqual(unusual.toSorted(), [
    "delete /v2/deployments/{deployment_id}/secrets",
    "delete /v2/deployments/{deployment_id}/secrets/{name}",
    "post /v1/integrations/bitbucket/webhook",
    "post /v1/integrations/gitea/webhook",
    "post /v1/integrations/github/webhook",
    "post /v1/integrations/gitlab/webhook",
    "post /v1/projects/{deployment_id}/deploy_logs",
    "post /v1/projects/{deployment_id}/revisions/{revision_id}/build_logs",
    "post /v1/projects/{deployment_id}/revisions/{revision_id}/deploy_logs",
    "post /v2/api-keys",
    "post /v2/console/codes",
    "post /v2/console/invitation",
    "post /v2/console/oidc",
    "post /v2/console/sessions",
    "post /v2/deployments/{deployment_id}/agent-token",
    "post /v2/deployments/{deployment_id}/push-token",
    "post /v2/invitations",
    "post /v2/listeners/{listener_id}/tokens",
    "post /v2/webhooks",
    "put /_uploads/{deployment_id}/{file}",
  ])
})
