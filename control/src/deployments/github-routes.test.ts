import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { exampleDeployment, startApi } from "../testing/api.js"
import { renderRepository } from "./github-routes.js"

test("the repositories of an integration are those of its deployments, each once, in a bare array", async () => {
  await using api = await startApi()
  const integration = await api.integrate("acme", "t0ken")
  const deploy = (name: string, repo_url: string, repo_ref: string) =>
    api.call("POST", "/v2/deployments", {
      body: {
        ...exampleDeployment(name),
        source_config: { integration_id: integration.id, repo_url },
        source_revision_config: { repo_ref, langgraph_config_path: "langgraph.json" },
      },
    })
  await deploy("one", "https://github.com/acme/shop", "main")
  await deploy("two", "https://github.com/acme/shop", "next")
  await deploy("three", "https://github.com/acme/chat.git", "main")
  const path = `/v1/integrations/github/${integration.id}/repos`

  const reply = await api.call("GET", path)
  const again = await api.call("GET", `/api-host${path}`)

  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(fieldsOf(reply.body, "owner", "name", "default_branch"), [
    ["acme", "chat", "main"],
    ["acme", "shop", "next"],
  ])
  assert.ok(reply.body.every(({ id }: { id: number }) => Number.isSafeInteger(id)))
  assert.deepEqual(again.body, reply.body)
})

test("owner and name are read from addresses of every form", () => {
  const parts = (repo_url: string) => {
    const { owner, name } = renderRepository("i", { repo_url, repo_ref: null })
    return `${owner} ${name}`
  }

  assert.equal(parts("https://github.com/acme/shop.git"), "acme shop")
  assert.equal(parts("https://gitlab.com/acme/team/shop/"), "acme/team shop")
  assert.equal(parts("git@github.com:acme/shop.git"), "acme shop")
  assert.equal(parts("ssh://git@host:22/acme/shop"), "acme shop")
  assert.equal(parts("file:///srv/git/shop.git"), "srv/git shop")
})
