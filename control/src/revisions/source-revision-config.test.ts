import assert from "node:assert/strict"
import { test } from "node:test"
import { nextRevisionConfig } from "../deployments/deployment.js"
import { copyFor, inputsOf, repliesOf } from "./field.js"
import { type SourceRevisionConfig, sourceRevisionConfigFields } from "./source-revision-config.js"

const config: SourceRevisionConfig = {
  repo_ref: "main",
  langgraph_config_path: "langgraph.json",
  image_uri: "registry.test/a:1",
  source_tarball_path: "d/u.tar.gz",
  repo_commit_sha: "a".repeat(40),
  commit: { sha: "abcdef0", message: "m", author: "a", branch: "main", is_dirty: false },
}

test("a preview is made from the pull request's commit, with the config path of its parent", () => {
  const pull = { repo_ref: "refs/pull/7/head", repo_commit_sha: "b".repeat(40) }

  const copy = copyFor("preview", sourceRevisionConfigFields, config, pull)

  assert.deepEqual(copy, { ...config, ...pull, image_uri: null, source_tarball_path: null, commit: null })
})

test("a change drops what described the former code", () => {
  const cases: readonly (readonly [Partial<SourceRevisionConfig>, Partial<SourceRevisionConfig>])[] = [
    [{}, { repo_commit_sha: null }],
    [{ langgraph_config_path: "b" }, { repo_commit_sha: null, langgraph_config_path: "b" }],
    [{ image_uri: "b" }, { repo_commit_sha: null, commit: null, image_uri: "b" }],
    [
      { repo_ref: "b" },
      { repo_commit_sha: null, commit: null, image_uri: null, source_tarball_path: null, repo_ref: "b" },
    ],
  ]
  for (const [change, changed] of cases) assert.deepEqual(nextRevisionConfig(config, change), { ...config, ...changed })
})

test("callers cannot pin a commit, and what they say about one is shown with the revision", () => {
  assert.ok(!Object.hasOwn(inputsOf(sourceRevisionConfigFields), "repo_commit_sha"))
  assert.ok(!Object.hasOwn(repliesOf(sourceRevisionConfigFields), "commit"))
})
