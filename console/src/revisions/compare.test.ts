import assert from "node:assert/strict"
import { test } from "node:test"
import { differences, isNewUpload, revisionBefore } from "./compare.js"

const revision = {
  commit: { sha: "0123456789abcdef", message: "add a tool", author: "Ada", branch: "main", is_dirty: false },
  upload: null,
  source: "github",
  source_revision_config: {
    repo_ref: "main",
    langgraph_config_path: "langgraph.json",
    image_uri: null,
    repo_commit_sha: null,
  },
  resource_spec: { cpu: 1, max_scale: 2 },
  secrets_version: 1,
  secret_names: ["MODEL_KEY"],
}

const upload = { sha256: "a1b2c3d4e5", size_bytes: 12_000, uploaded_at: "2026-01-01T00:00:00.000Z" }
const one = { ...revision, commit: null, source: "internal_source", upload }

test("two revisions of the same commit with the same settings do not differ", () => {
  assert.deepEqual(differences(revision, { ...revision }), [])
})

test("commit, configuration, secrets and resources are compared, also those that only one has", () => {
  const other = {
    ...revision,
    commit: null,
    source_revision_config: { ...revision.source_revision_config, repo_ref: "next" },
    resource_spec: { cpu: 1, memory_mb: 512 },
    secrets_version: 2,
    secret_names: [],
  }

  assert.deepEqual(differences(revision, other), [
    { what: "Commit", before: "0123456 add a tool (Ada)", after: "none" },
    { what: "Branch, tag or commit", before: "main", after: "next" },
    { what: "Version of the secrets", before: "1", after: "2" },
    { what: "Names of the secrets", before: "MODEL_KEY", after: "none" },
    { what: "Resource max_scale", before: "2", after: "default" },
    { what: "Resource memory_mb", before: "default", after: "512" },
  ])
})

test("two uploads differ in their code, also where nothing else does", () => {
  const other = { ...one, upload: { ...upload, sha256: "f6a7b8c9d0", uploaded_at: "2026-01-01T00:00:01.000Z" } }

  const code = { what: "Code", before: "archive a1b2c3d, 12 kB", after: "archive f6a7b8c, 12 kB" }
  assert.deepEqual(differences(one, other), [code])
  assert.deepEqual([isNewUpload(other, one), isNewUpload(one, one), isNewUpload(revision, one)], [true, false, false])
})

test("the same commit with and without changes is not the same code", () => {
  const dirty = { ...revision, commit: { ...revision.commit, is_dirty: true } }

  const before = "0123456 add a tool (Ada)"
  assert.deepEqual(differences(revision, dirty), [{ what: "Commit", before, after: `${before}, with changes` }])
})

test("the same archive, uploaded again, is no difference", () => {
  assert.deepEqual(differences(one, { ...one, upload: { ...upload, uploaded_at: "2026-01-02T00:00:00.000Z" } }), [])
})

test("the revision before one that was not read is not known", () => {
  const newestFirst = [{ id: "r3" }, { id: "r2" }]

  assert.deepEqual(revisionBefore(newestFirst, "r3"), { id: "r2" })
  assert.equal(revisionBefore(newestFirst, "r2"), undefined)
  assert.equal(revisionBefore(newestFirst, "r1"), undefined)
})
