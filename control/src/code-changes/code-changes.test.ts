/** What changed in the code between revisions, over HTTP, with real repositories and archives. */

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { masterKey, seal } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import { bareRepository } from "../sources/testing/bare-repository.js"
import { type TarEntry, tarGz } from "../sources/testing/tar-gz.js"
import { exampleDeployment, shared, startApi } from "../testing/api.js"
import { removeOldArchives } from "../uploads/operations.js"
import { codeChangeLimits } from "./changed-file.js"

const api = shared(() => startApi({ gitProtocols: ["file"] }))

/** Stores what the stage `fetch` has resolved, and ends the revision. */
const fetched = (revisionId: string, sha: string) =>
  api.db.run(sql`
    update revisions set commit_sha = ${sha}, status = 'DEPLOYED', stage = null where revision_id = ${revisionId}`)

/** Two revisions of a repository. @returns  how their difference is read */
async function commits(
  name: string,
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
  { links = {}, repository = bareRepository(temporaryFolder()), call = api.call } = {},
) {
  const body = exampleDeployment(name, { repo_url: repository.url })
  const { body: deployment } = await call("POST", "/v2/deployments", { body })
  await fetched(deployment.latest_revision_id, repository.commit(one))
  const { body: next } = await call("POST", `/v2/deployments/${deployment.id}/revisions`, { body: {} })
  await fetched(next.id, repository.commit(other, "main", links))
  const path = `/v2/deployments/${deployment.id}/revisions/${next.id}/code-changes?since=${deployment.latest_revision_id}`
  return {
    path,
    id: deployment.id as string,
    first: deployment.latest_revision_id as string,
    second: next.id as string,
  }
}

test("two commits differ in files that were added, removed and changed, each with a unified diff", async () => {
  const { path } = await commits(
    "commits",
    { "agent.ts": "const a = 1\nconst b = 2\n", "old.ts": "gone\n", "same.ts": "same\n" },
    { "agent.ts": "const a = 1\nconst b = 3\n", "tools/ä new.ts": "new\n", "same.ts": "same\n" },
  )

  const { status, body } = await api.call("GET", path)

  assert.equal(status, 200)
  assert.equal(body.total, 3)
  const files: Record<string, unknown>[] = body.files
  assert.deepEqual(fieldsOf(files, "path", "change", "size_before", "size_after", "omitted", "diff"), [
    ["agent.ts", "changed", 24, 24, null, "@@ -1,2 +1,2 @@\n const a = 1\n-const b = 2\n+const b = 3\n"],
    ["old.ts", "removed", 5, null, null, "@@ -1 +0,0 @@\n-gone\n"],
    ["tools/ä new.ts", "added", null, 4, null, "@@ -0,0 +1 @@\n+new\n"],
  ])
})

test("files of secrets, binary files, links and long files are named only, and values of secrets are hidden (CC1, CC3, CC4)", async () => {
  const outside = join(temporaryFolder(), "outside")
  writeFileSync(outside, "not of this repository")
  const { path } = await commits(
    "secrets",
    { "a.ts": "1\n" },
    {
      "a.ts": "const key = 'sk-very-secret'\n",
      ".env": "MODEL_KEY=sk-other-secret\n",
      ".env.example": "MODEL_KEY=\n",
      "certs/tls.pem": "secret\n",
      "notes.txt": "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n",
      "image.png": "\u0089PNG\u0000",
      "long.json": "x\n".repeat(codeChangeLimits.fileBytes),
    },
    { links: { link: outside } },
  )

  const { text, body } = await api.call("GET", path)

  const omitted = body.files.map((file: { path: string; omitted: string | null }) => [file.path, file.omitted])
  assert.deepEqual(Object.fromEntries(omitted), {
    ".env": "secret",
    ".env.example": null,
    "a.ts": null,
    "certs/tls.pem": "secret",
    "image.png": "binary",
    link: "link",
    "long.json": "too_large",
    "notes.txt": "secret",
  })
  assert.match(text, /const key = '\[secret\]'/)
  for (const absent of ["sk-very-secret", "sk-other-secret", "BEGIN OPENSSH", "not of this repository"])
    assert.ok(!text.includes(absent), absent)
})

const evil = [
  "const a = 2 //\u2028diff --git x",
  "evil()",
  "//\rdiff --git after/1 x\r@@ -1 +1 @@\r+harmless",
  "//\u2029diff --git after/1 after/1\u2029@@ -1 +1 @@",
]
for (const [what, changed, diffs] of [
  [
    "settings in the code concern no git, and its lines cannot pretend to be a header",
    { ".gitattributes": "*.ts binary diff=evil\n", "a.ts": "diff --git after/2 after/2\n@@ -1 +1 @@\n", "b.ts": "2\n" },
    ["@@ -1 +1,2 @@\n-1\n+diff --git after/2 after/2\n+@@ -1 +1 @@\n", "@@ -1 +1 @@\n-1\n+2\n"],
  ],
  [
    "characters that other programs take for the end of a line neither hide nor forge lines of a diff",
    { "a.ts": `${evil.join("\n")}\n`, "b.ts": "2" },
    [
      `@@ -1 +1,4 @@\n-1\n${evil.map((line) => `+${line}\n`).join("")}`,
      "@@ -1 +1 @@\n-1\n+2\n\\ No newline at end of file\n",
    ],
  ],
] as const)
  test(`${what} (CC4)`, async () => {
    const { path } = await commits(what.slice(0, 8), { "a.ts": "1\n", "b.ts": "1\n" }, changed)

    const { body } = await api.call("GET", path)

    assert.deepEqual(body.files.map((file: { diff: string }) => file.diff).slice(-2), diffs)
  })

// macOS stores no such name.
const skip = process.platform !== "linux"
test("files whose names are not UTF-8 are compared, each under a name of its own", { skip }, async () => {
  const repository = bareRepository(temporaryFolder())
  const { path, first, second } = await commits("names", { "a.ts": "1\n" }, { "a.ts": "1\n" }, { repository })
  const blob = repository.git("rev-parse", "main:a.ts")
  const commit = (...names: readonly string[]) => {
    const entries = names.map((name) => Buffer.from(`100644 blob ${blob}\t${name}\0`, "latin1"))
    const tree = execFileSync("git", ["mktree", "-z"], { cwd: repository.folder, input: Buffer.concat(entries) })
    return repository.git("commit-tree", "-m", "names", String(tree).trim())
  }
  const [one, other] = [commit("\xe9.ts"), commit("\xe8.ts")]
  repository.git("update-ref", "refs/heads/one", one)
  repository.git("update-ref", "refs/heads/other", other)
  await fetched(first, one)
  await fetched(second, other)

  const { status, body } = await api.call("GET", path)

  assert.equal(status, 200)
  assert.deepEqual(fieldsOf(body.files, "path", "diff"), [
    ["\\xe8.ts", "@@ -0,0 +1 @@\n+1\n"],
    ["\\xe9.ts", "@@ -1 +0,0 @@\n-1\n"],
  ])
})

test("what exceeds the number of diffs or files is named or counted (CC1)", async () => {
  const count = codeChangeLimits.files + 5
  const files = Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`f${String(n).padStart(4, "0")}`, `${n}\n`]),
  )
  const { path } = await commits("many", {}, files)

  const { body } = await api.call("GET", path)

  assert.equal(body.total, count)
  assert.equal(body.files.length, codeChangeLimits.files)
  const shown = body.files.filter(({ diff }: { diff: string | null }) => diff !== null)
  assert.equal(shown.length, codeChangeLimits.diffs)
  assert.equal(body.files.at(-1).omitted, "limit")
})

test("a commit that its host no longer has, and a revision without code, are refused with the reason; nothing stays (CC5)", async () => {
  const { path, id, first, second } = await commits("gone", { "a.ts": "1\n" }, { "a.ts": "2\n" })
  await fetched(first, "c".repeat(40))
  const gone = await api.call("GET", path)
  await api.db.run(sql`update revisions set commit_sha = null where revision_id = ${first}`)
  const never = await api.call("GET", path)
  const same = await api.call("GET", `/v2/deployments/${id}/revisions/${second}/code-changes?since=${second}`)
  const malformed = await api.call("GET", `/v2/deployments/${id}/revisions/${second}/code-changes`)

  assert.deepEqual([gone.status, gone.body.code], [409, "code_not_comparable"])
  assert.match(gone.body.detail, /has no branch, tag or commit "c{40}"/)
  assert.deepEqual([never.status, never.body.code], [409, "code_not_comparable"])
  assert.match(never.body.detail, /was not fetched/)
  assert.deepEqual(same.body, { files: [], total: 0 })
  assert.equal(malformed.status, 422)
  assert.deepEqual(readdirSync(api.comparedCode), [])
})

test("a workspace that asks for many comparisons at once is told to wait (CC1)", async () => {
  const { path } = await commits("busy", { "a.ts": "1\n" }, { "a.ts": "2\n" })

  const replies = await Promise.all(Array.from({ length: 5 }, () => api.call("GET", path)))

  const statuses = replies.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [200, 200, 429, 429, 429])
  assert.equal((await api.call("GET", path)).status, 200)
})

test("a host that does not answer holds no other workspace, and its own only until the reader has left (CC1)", async () => {
  const repository = bareRepository(temporaryFolder())
  const slow = await commits("slow", { "a.ts": "1\n" }, { "a.ts": "2\n" }, { repository })
  const quick = await commits("quick", { "a.ts": "1\n" }, { "a.ts": "2\n" })
  const other = await commits("other", { "a.ts": "1\n" }, { "a.ts": "2\n" }, { call: api.callAsOther })
  // Whoever opens it waits for a writer.
  rmSync(join(repository.folder, "HEAD"))
  execFileSync("mkfifo", [join(repository.folder, "HEAD")])
  const leaving = new AbortController()
  const headers = { "x-api-key": api.apiKey }
  const blocked = api.fetch(new Request(`http://localhost${slow.path}`, { headers, signal: leaving.signal }))
  await until(() => readdirSync(api.comparedCode).length === 1, { what: "its comparison has begun" })

  const ofOther = await api.callAsOther("GET", other.path)
  const waiting = api.call("GET", quick.path)
  leaving.abort()
  const left = await blocked

  assert.equal(ofOther.status, 200)
  assert.notEqual(left.status, 200)
  assert.equal((await waiting).status, 200)
})

test("code whose secrets cannot be opened, and so not be hidden, is not shown (CC3)", async () => {
  const { path, id } = await commits("other-key", { "a.ts": "1\n" }, { "a.ts": "sk-very-secret\n" })
  const sealed = seal(masterKey(randomBytes(32)), "sk-very-secret", contextOf.database(id))
  await api.db.run(sql`update secrets set value_sealed = ${sealed} where deployment_id = ${id}`)

  const { status, text, body } = await api.call("GET", path)

  assert.deepEqual([status, body.code], [409, "code_not_comparable"])
  assert.match(body.detail, /another master key/)
  assert.ok(!text.includes("sk-very-secret"))
  assert.deepEqual(readdirSync(api.comparedCode), [])
})

test("two uploads are compared, also a day after the older one was used (U3)", async () => {
  const body = {
    name: "uploads",
    source: "internal_source",
    source_config: { deployment_type: "dev" },
    source_revision_config: {},
  }
  const { body: deployment } = await api.call("POST", "/v2/deployments", { body })
  const upload = async (entries: readonly TarEntry[], isFetched = true) => {
    const { body: offered } = await api.call("POST", `/v2/deployments/${deployment.id}/upload-url`)
    const { pathname, search } = new URL(offered.upload_url)
    const sent = await api.fetch(
      new Request(`http://localhost${pathname}${search}`, { method: "PUT", body: new Uint8Array(tarGz(entries)) }),
    )
    const { sha256 } = (await sent.json()) as { sha256: string }
    const { body: patched } = await api.call("PATCH", `/v2/deployments/${deployment.id}`, {
      body: {
        revision_source: "internal_source",
        source_revision_config: { source_tarball_path: offered.object_path, langgraph_config_path: "langgraph.json" },
      },
    })
    if (isFetched) await fetched(patched.latest_revision_id, `sha256:${sha256}`)
    return patched.latest_revision_id as string
  }
  const first = await upload([{ path: "a.ts", content: "1\n" }])
  const second = await upload([{ path: "a.ts", content: "2\n" }], false)
  await api.db.run(sql`update uploads set used_at = now() - interval '3 days', stored_at = now() - interval '3 days'`)
  await removeOldArchives(api.db)
  const read = (one: string, other: string) =>
    api.call("GET", `/v2/deployments/${deployment.id}/revisions/${other}/code-changes?since=${one}`)

  const compared = await read(first, second)
  const third = await upload([{ path: "a.ts", content: "3\n" }])
  await upload([{ path: "a.ts", content: "4\n" }])
  await api.db.run(sql`update uploads set used_at = now() - interval '3 days', stored_at = now() - interval '3 days'`)
  await removeOldArchives(api.db)

  assert.equal(compared.body.files[0].diff, "@@ -1 +1 @@\n-1\n+2\n")
  assert.equal((await read(second, third)).body.total, 1)
  assert.equal((await read(first, third)).body.code, "code_not_comparable")
})
