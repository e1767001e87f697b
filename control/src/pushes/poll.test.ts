/** Polling: real repositories, through real git, with the last seen commits in the database. */

import assert from "node:assert/strict"
import { beforeEach, test } from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import { sql } from "@superstep/toolkit/db/sql"
import { MemberFailures } from "@superstep/toolkit/log/member-failures"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent as log } from "@superstep/toolkit/testing/test-cluster"
import type { RevisionRow } from "../revisions/queries.js"
import type { GitSource } from "../sources/git.js"
import { SourceFailed } from "../sources/port.js"
import { type BareRepository, bareRepository } from "../sources/testing/bare-repository.js"
import { testGit } from "../sources/testing/git-source.js"
import { exampleDeployment, shared, startApi } from "../testing/api.js"
import { inTurns, pollDue } from "./poll.js"
import { dueBranches } from "./queries.js"
import { resolveWatched } from "./resolve-watched.js"
import { signedPush } from "./testing/deliveries.js"

const secret = "a secret for all repositories"
const minute = 60_000
const git = testGit()

const api = shared(() => startApi({ gitProtocols: ["file"], webhookSecrets: [new Secret(secret)], pollMs: minute }))
let repository: BareRepository
/** The git queries that were sent to hosts. */
let asked: string[][]
beforeEach(async () => {
  await api.db.run(sql`delete from deployments`)
  repository = bareRepository(temporaryFolder())
  repository.commit({ "a.txt": "1" })
  asked = []
})

const counting: GitSource = {
  ...git,
  heads: (location, refs, signal) => {
    asked.push([location.repoUrl, ...refs])
    return git.heads(location, refs, signal)
  },
}
const look = (source: GitSource = counting) =>
  pollDue(
    {
      db: api.db,
      key: api.key,
      log,
      failures: new MemberFailures(log),
      git: source,
      pollMs: minute,
    },
    new AbortController().signal,
  )
const makeDue = () => api.db.run(sql`update watched_branches set look_at = now()`)

async function deployment(name = "shop", change: { url?: string; ref?: string; build_on_push?: boolean } = {}) {
  const { url: repo_url = repository.url, ref: repo_ref = "main", build_on_push = true } = change
  const example = exampleDeployment(name, { repo_url, build_on_push })
  const body = { ...example, source_revision_config: { ...example.source_revision_config, repo_ref } }
  const reply = await api.call("POST", "/v2/deployments", { body })
  assert.equal(reply.status, 201, reply.text)
  return reply.body.id as string
}

/** What the fetch stage stores for the first revision. */
const resolved = (id: string, sha: string) =>
  api.db.run(
    sql`update revisions set commit_sha = ${sha}, stage = null, status = 'DEPLOYED' where deployment_id = ${id}`,
  )
const pushed = async (id: string) =>
  (
    await api.db.rows<{ sha: string }>(sql`
      select source_revision_config ->> 'repo_commit_sha' as sha from revisions
      where deployment_id = ${id} and trigger = 'push' order by seq`)
  ).map(({ sha }) => sha)

test("polling finds a push and builds it once; a known commit is not built", async () => {
  const id = await deployment()
  await resolved(id, repository.git("rev-parse", "main"))
  await look()
  assert.deepEqual(await pushed(id), [])

  const sha = repository.commit({ "a.txt": "2" })
  await look()
  assert.deepEqual(await pushed(id), [], "it is looked at once a minute")
  for (let n = 0; n < 3; n++) {
    await makeDue()
    await look()
  }

  assert.deepEqual(await pushed(id), [sha])
})

test("a repository whose host asks for a pause is polled no sooner", async () => {
  const id = await deployment()
  await resolved(id, repository.git("rev-parse", "main"))
  const askedMs = 30 * minute
  const busy = () => Promise.reject(new SourceFailed("source_not_found", "429", { isTransient: true, askedMs }))

  await look({ ...counting, heads: busy })

  const later = sql`select 1 from watched_branches where look_at > now() + interval '20 minutes'`
  assert.ok(await api.db.row(later))
})

test("one poll serves all deployments of a repository, each with its branch", async () => {
  const [main, staging, off] = [
    await deployment("main"),
    await deployment("staging", { ref: "staging" }),
    await deployment("off", { build_on_push: false }),
  ]
  for (const id of [main, staging, off]) await resolved(id, "0".repeat(40))
  const sha = repository.commit({ "a.txt": "2" }, "staging")

  await look()

  assert.deepEqual(asked, [[repository.url, "refs/heads/main", "refs/heads/staging"]])
  assert.deepEqual(await pushed(staging), [sha])
  assert.equal((await pushed(main)).length, 1)
  assert.deepEqual(await pushed(off), [])
})

test("a push is not built when the deployment stops to build pushes while its host is asked", async () => {
  const id = await deployment()
  await resolved(id, repository.git("rev-parse", "main"))
  repository.commit({ "a.txt": "2" })
  const patched: GitSource["heads"] = async (...asked) => {
    const heads = await git.heads(...asked)
    await api.change(id, { source_config: { build_on_push: false } })
    return heads
  }

  await look({ ...counting, heads: patched })

  assert.deepEqual(await pushed(id), [])
})

test("polling waits for a revision that is about to resolve the branch", async () => {
  const id = await deployment()
  const sha = repository.commit({ "a.txt": "2" })
  await look()
  assert.deepEqual(await pushed(id), [])

  await resolved(id, sha)
  await makeDue()
  await look()

  assert.deepEqual(await pushed(id), [])
})

test("a webhook pauses polling except for one poll after it, and each push is reported once", async () => {
  const id = await deployment()
  await resolved(id, repository.git("rev-parse", "main"))
  const sha = repository.commit({ "a.txt": "2" })
  const { path, headers, text } = signedPush("gitea", secret, { after: sha, repoUrl: repository.url.slice(0, -4) })
  assert.equal((await api.call("POST", path, { text, headers })).status, 202)
  await look()
  assert.deepEqual(asked, [])

  await makeDue()
  await look()
  const row = await api.db.row<{ is_far: boolean }>(sql`
    select look_at > now() + interval '23 hours' as is_far from watched_branches`)

  assert.equal(asked.length, 1)
  assert.equal(row?.is_far, true)
  assert.deepEqual(await pushed(id), [sha])
})

test("a skipped push is not built by the poll that follows", async () => {
  const id = await deployment()
  await resolved(id, repository.git("rev-parse", "main"))
  const after = repository.commit({ "a.txt": "2" })
  const fields = { after, message: "x [skip ci]", repoUrl: repository.url.slice(0, -4) }
  const { path, headers, text } = signedPush("gitea", secret, fields)
  assert.equal((await api.call("POST", path, { text, headers })).body.result, "ignored")
  await makeDue()
  await look()

  assert.equal(asked.length, 1)
  assert.deepEqual(await pushed(id), [])
})

test("the poll that follows corrects webhooks in the wrong order", async () => {
  const id = await deployment()
  await resolved(id, repository.git("rev-parse", "main"))
  const [older, newest] = [repository.commit({ "a.txt": "2" }), repository.commit({ "a.txt": "3" })]
  for (const after of [newest, older]) {
    const { path, headers, text } = signedPush("gitea", secret, { after, repoUrl: repository.url.slice(0, -4) })
    await api.call("POST", path, { text, headers })
  }
  await makeDue()
  await look()

  assert.deepEqual(await pushed(id), [newest, older, newest])
})

test("a poll whose host was asked before a webhook came leaves the branch to that webhook's own poll", async () => {
  const id = await deployment()
  await resolved(id, repository.git("rev-parse", "main"))
  await look()
  const older = repository.commit({ "a.txt": "2" })
  let newest = ""
  const overtaken: GitSource = {
    ...git,
    heads: async (...asked) => {
      const heads = await git.heads(...asked)
      newest = repository.commit({ "a.txt": "3" })
      const { path, headers, text } = signedPush("gitea", secret, {
        after: newest,
        repoUrl: repository.url.slice(0, -4),
      })
      await api.call("POST", path, { text, headers })
      return heads
    },
  }

  await makeDue()
  await look(overtaken)

  assert.notEqual(newest, older)
  assert.deepEqual(await pushed(id), [newest])
  const row = await api.db.row<{ sha: string; is_soon: boolean }>(sql`
    select sha, look_at < now() + interval '5 minutes' as is_soon from watched_branches`)
  assert.deepEqual(row, { sha: newest, is_soon: true })
})

/** What a rollback to a commit stores, when it has ended. */
const rolledBack = (id: string, sha: string) =>
  api.db.run(sql`
    insert into revisions (revision_id, deployment_id, seq, status, trigger, source, source_config,
      source_revision_config, secrets_version, commit_sha)
    select gen_random_uuid(), ${id}, 9, 'DEPLOYED', 'rollback', 'github', '{}', '{}', 0, ${sha}`)

test("polling does not undo a rollback", async () => {
  const id = await deployment()
  const first = repository.git("rev-parse", "main")
  await resolved(id, first)
  const sha = repository.commit({ "a.txt": "2" })
  await look()
  await rolledBack(id, first)
  await makeDue()
  await look()

  assert.deepEqual(await pushed(id), [sha])
})

/** What the fetch stage does for the latest revision. @param meanwhile  happens after the host was asked */
async function fetched(id: string, meanwhile: () => Promise<unknown> = async () => undefined): Promise<string> {
  const revision = await api.db.row<RevisionRow>(sql`
    select * from revisions where deployment_id = ${id} order by seq desc limit 1`)
  assert.ok(revision)
  const sha = await resolveWatched(api.db, revision, async () => {
    const found = repository.git("rev-parse", "main")
    await meanwhile()
    return found
  })
  await resolved(id, sha)
  return sha
}

test("a rollback from a commit that no poll has seen stays until the next push", async () => {
  const id = await deployment()
  const first = repository.git("rev-parse", "main")
  repository.commit({ "a.txt": "2" })
  await fetched(id)
  await rolledBack(id, first)
  await look()
  assert.deepEqual(await pushed(id), [])

  const next = repository.commit({ "a.txt": "3" })
  await makeDue()
  await look()

  assert.deepEqual(await pushed(id), [next])
})

test("a poll whose host was asked before a revision found a newer commit does not deploy the older one over it (H6)", async () => {
  const id = await deployment()
  await fetched(id)
  const overtaken: GitSource = {
    ...git,
    heads: async (...asked) => {
      const heads = await git.heads(...asked)
      repository.commit({ "a.txt": "2" })
      await fetched(id)
      return heads
    },
  }
  await makeDue()
  await look(overtaken)

  assert.deepEqual(await pushed(id), [])
})

test("a webhook that comes while a revision resolves its branch knows better", async () => {
  const id = await deployment()
  const first = await fetched(id)
  const skipped = async () => {
    const after = repository.commit({ "a.txt": "2" })
    const fields = { after, message: "x [skip ci]", repoUrl: repository.url.slice(0, -4) }
    const { path, headers, text } = signedPush("gitea", secret, fields)
    assert.equal((await api.call("POST", path, { text, headers })).body.result, "ignored")
  }
  await fetched(id, skipped)
  await rolledBack(id, first)
  await makeDue()
  await look()

  assert.deepEqual(await pushed(id), [])
})

test("an unreachable repository is polled less often and does not delay others", async () => {
  const gone = await deployment("gone", { url: `${repository.url}.gone` })
  const fine = await deployment("fine")
  for (const id of [gone, fine]) await resolved(id, "0".repeat(40))
  for (let n = 0; n < 3; n++) {
    await makeDue()
    await look()
  }

  const row = await api.db.row<{ failures: number; is_later: boolean }>(sql`
    select failures, look_at > now() + interval '3 minutes' as is_later from watched_branches where deployment_id = ${gone}`)
  assert.deepEqual(row, { failures: 3, is_later: true })
  assert.equal((await pushed(fine)).length, 1)
})

test("of more repositories than one pass polls, those that have been due for longest come first", async () => {
  const id = await deployment()
  await look()
  await api.db.run(sql`update watched_branches set look_at = now() - interval '1 minute' where deployment_id = ${id}`)
  // Their ids are lower, and they are due again.
  await api.db.run(sql`
    with added as (
      insert into deployments (deployment_id, workspace_id, name, route_name, source, source_config, source_revision_config, status)
      select ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, ${api.workspaceId}, 'd' || n, 'd' || n, 'github',
        jsonb_build_object('repo_url', 'https://example.com/' || n, 'build_on_push', true), '{"repo_ref": "main"}', 'READY'
      from generate_series(1, 500) as n returning deployment_id)
    insert into watched_branches (deployment_id, ref) select deployment_id, 'refs/heads/main' from added`)

  const due = await dueBranches(api.db, minute)

  assert.deepEqual([due.length, due[0]?.deployment_id], [500, id])
})

test("workspaces take turns, so the first repository of each comes before the second of any", () => {
  const of = (workspace_id: string, repository: string) => [{ workspace_id, repository }]
  const due = [of("many", "1"), of("many", "2"), of("many", "3"), of("few", "a"), of("few", "b")]

  const order = inTurns(due).map(([branch]) => branch?.repository)

  assert.deepEqual(order, ["1", "a", "2", "b", "3"])
})
