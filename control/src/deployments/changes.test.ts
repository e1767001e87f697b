import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { startApi, type TestApi } from "../testing/api.js"
import { emptySourceConfig, emptySourceRevisionConfig } from "./deployment.js"

const revisionIds = async (api: TestApi, id: string): Promise<string[]> => {
  const { body } = await api.call("GET", `/v2/deployments/${id}/revisions`)
  return body.resources.map((revision: { id: string }) => revision.id)
}

test("only changes of code, secrets or resources create a revision (D2)", async () => {
  await using api = await startApi()
  const { id } = await api.deploy()
  const makes: Record<string, { body: object; revisions: number }> = {
    "build_on_push alone": { body: { source_config: { build_on_push: true } }, revisions: 0 },
    "a display name": { body: { display_name: "Shop" }, revisions: 0 },
    "an empty body": { body: {}, revisions: 0 },
    nulls: { body: { source_config: null, source_revision_config: { repo_ref: null }, secrets: null }, revisions: 0 },
    "no secrets": { body: { secrets: [] }, revisions: 0 },
    "a ref": { body: { source_revision_config: { repo_ref: "next" } }, revisions: 1 },
    "the same ref again": { body: { source_revision_config: { repo_ref: "next" } }, revisions: 1 },
    "a secret": { body: { secrets: [{ name: "A", value: "1" }] }, revisions: 1 },
    resources: { body: { source_config: { resource_spec: { cpu: 2 } } }, revisions: 1 },
  }
  for (const [what, { body, revisions }] of Object.entries(makes)) {
    const before = await revisionIds(api, id)

    const reply = await api.call("PATCH", `/v2/deployments/${id}`, { body })

    assert.equal(reply.status, 200, `${what}: ${reply.text}`)
    assert.equal((await revisionIds(api, id)).length - before.length, revisions, what)
  }
})

test("a revision is the complete specification: the previous one as requested, plus the change (D4)", async () => {
  await using api = await startApi()
  const { id } = await api.deploy()
  const patch = (body: object) => api.call("PATCH", `/v2/deployments/${id}`, { body })

  await patch({ source_revision_config: { repo_ref: "next" } })
  await patch({ source_config: { build_on_push: true, resource_spec: { cpu: 2, colour: "blue" } } })
  await patch({ source_revision_config: { langgraph_config_path: "apps/agent/langgraph.json" } })

  const row = await api.db.row<{ source_config: object; source_revision_config: object; seq: number }>(
    sql`select * from revisions order by seq desc limit 1`,
  )
  assert.equal(row?.seq, 4)
  assert.deepEqual(row?.source_revision_config, {
    ...emptySourceRevisionConfig,
    repo_ref: "next",
    langgraph_config_path: "apps/agent/langgraph.json",
  })
  assert.deepEqual(row?.source_config, {
    ...emptySourceConfig,
    repo_url: "https://github.com/acme/shop",
    deployment_type: "dev",
    build_on_push: true,
    resource_spec: { cpu: 2, colour: "blue" },
  })
})

test("a change of an old version is refused and changes nothing (D6)", async () => {
  await using api = await startApi()
  const { id } = await api.deploy()
  const path = `/v2/deployments/${id}`
  const etag = (await api.call("GET", path)).headers.get("etag") ?? ""
  const rename = (display_name: string, ifMatch: string) =>
    api.call("PATCH", path, { body: { display_name }, headers: { "if-match": ifMatch } })

  const first = await rename("one", etag)
  const stale = await rename("two", etag)
  const any = await rename("three", "*")
  const listed = await rename("four", `"99", ${any.headers.get("etag")}`)
  const odd = await rename("five", 'W/"1", nonsense')
  const deleted = await api.call("DELETE", path, { headers: { "if-match": etag } })

  assert.deepEqual(fieldsOf([first, stale, any, listed, odd, deleted], "status"), [200, 412, 200, 200, 412, 412])
  assert.equal((await api.call("GET", path)).body.display_name, "four")
})

test("a new ref leads back to the repository after an image was sent in between", async () => {
  await using api = await startApi()
  const { id } = await api.deploy()
  const patch = (body: object) => api.call("PATCH", `/v2/deployments/${id}`, { body })

  const image = await patch({
    revision_source: "internal_docker",
    source_revision_config: { image_uri: "registry.test/a:1" },
  })
  const settings = await patch({ source_config: { build_on_push: true } })
  const back = await patch({ source_revision_config: { repo_ref: "next" } })

  assert.deepEqual([image.status, settings.status, back.status], [200, 200, 200], back.text)
  const { body } = await api.call("GET", `/v2/deployments/${id}/revisions`)
  const made = body.resources.map(({ source, source_revision_config: { image_uri } }: Made) => [source, image_uri])
  assert.deepEqual(made, [
    ["github", null],
    ["internal_docker", "registry.test/a:1"],
    ["github", null],
  ])
})

interface Made {
  source: string
  source_revision_config: { image_uri: string | null }
}
