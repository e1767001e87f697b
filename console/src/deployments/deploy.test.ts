import assert from "node:assert/strict"
import { test } from "node:test"
import { repositoryRequest } from "./deploy.js"

test("a private repository is deployed with the credentials that are chosen for it", () => {
  const repository = { name: "shop", repoUrl: "https://git.example.com/shop.git", ref: "main", configPath: "a.json" }

  assert.equal(repositoryRequest({ ...repository, integrationId: "i1" }).source_config.integration_id, "i1")
  assert.equal(repositoryRequest({ ...repository, integrationId: null }).source_config.integration_id, null)
})
