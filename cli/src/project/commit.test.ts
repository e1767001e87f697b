import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { commitOf } from "./commit.js"

const path = process.env.PATH ?? ""

function repository() {
  const folder = temporaryFolder()
  const person = { GIT_AUTHOR_NAME: "Ada", GIT_AUTHOR_EMAIL: "ada@example.com" }
  const committer = { GIT_COMMITTER_NAME: "Bot", GIT_COMMITTER_EMAIL: "bot@example.com" }
  const env = { PATH: path, HOME: folder, GIT_CONFIG_NOSYSTEM: "1", ...person, ...committer }
  const git = (...args: string[]) => execFileSync("git", args, { cwd: folder, env, encoding: "utf8" }).trim()
  git("init", "--quiet", "--initial-branch=main")
  const commit = (message: string) => {
    git("add", "--all")
    git("commit", "--quiet", "--allow-empty", "--message", message)
    return git("rev-parse", "HEAD")
  }
  return { folder, git, commit }
}

const read = async (folder: string, more: Record<string, string> = {}) => {
  const warnings: string[] = []
  const environment = { PATH: path, HOME: folder, ...more }
  return { commit: await commitOf(folder, { environment, warn: (message) => warnings.push(message) }), warnings }
}

test("a folder in a repository has the commit, its branch, its author and the first line of its message", async () => {
  const { folder, git, commit } = repository()
  writeFileSync(join(folder, "graph.ts"), "1")
  const sha = commit("fix: the greeting\n\nIt was rude.")

  const { commit: clean, warnings } = await read(folder)
  writeFileSync(join(folder, "graph.ts"), "2")
  const { commit: dirty } = await read(folder)
  git("checkout", "--quiet", "--detach")
  const { commit: detached } = await read(folder)

  const facts = { sha, message: "fix: the greeting", author: "Ada", branch: "main" }
  assert.deepEqual([clean, warnings], [{ ...facts, is_dirty: false }, []])
  assert.deepEqual(dirty, { ...facts, is_dirty: true })
  assert.deepEqual(detached, { ...facts, branch: null, is_dirty: true })
})

test("changes beside the folder and ignored files are no changes of it; a new file is one", async () => {
  const { folder, commit } = repository()
  const agent = join(folder, "agent")
  mkdirSync(agent)
  writeFileSync(join(folder, ".gitignore"), ".env\n")
  writeFileSync(join(agent, "graph.ts"), "1")
  commit("all")

  writeFileSync(join(folder, "other.ts"), "2")
  writeFileSync(join(agent, ".env"), "KEY=1")
  const clean = await read(agent)
  // As in a hook of git, where these name another repository.
  const inHook = await read(agent, { GIT_DIR: "/nowhere", GIT_INDEX_FILE: "/nowhere/index" })
  writeFileSync(join(agent, "new.ts"), "3")
  const dirty = await read(agent)

  const areDirty = [clean, inHook, dirty].map(({ commit: it }) => it?.is_dirty)
  assert.deepEqual(areDirty, [false, false, true])
})

test("a folder that is in no commit has none, and nothing is said about it", async () => {
  const { folder, commit } = repository()
  const beforeTheFirst = await read(folder)
  commit("first")
  const unknown = join(folder, "unknown")
  mkdirSync(unknown)
  writeFileSync(join(unknown, "graph.ts"), "1")

  const none = { commit: undefined, warnings: [] }
  assert.deepEqual(beforeTheFirst, none)
  assert.deepEqual(await read(unknown), none)
  assert.deepEqual(await read(temporaryFolder()), none)
  assert.deepEqual(await read(folder, { PATH: "/nowhere" }), none)
})

test("a repository that git refuses to read is named, and the deploy goes on", async () => {
  const { folder, commit } = repository()
  commit("first")
  writeFileSync(join(folder, ".git/config"), "[broken")

  const { commit: found, warnings } = await read(folder)

  assert.equal(found, undefined)
  assert.match(warnings.join(), /^the revision does not name its commit, since git fails: .*config/)
})
