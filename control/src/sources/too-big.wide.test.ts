/** Code that would fill the platform's disk is refused, and nothing of it stays. */

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { archiveSource } from "./archive.js"
import { archiveLimits } from "./archive-reader.js"
import type { GitSettings } from "./git.js"
import { treeMeter } from "./git-command.js"
import { SourceFailed } from "./port.js"
import { bareRepository } from "./testing/bare-repository.js"
import { endlessGitServer, endlessRefsServer } from "./testing/endless-git-server.js"
import { testGit } from "./testing/git-source.js"
import { tarGz, uploaded } from "./testing/tar-gz.js"

const { signal } = new AbortController()
const sourceWith = (limits?: GitSettings["limits"]) =>
  testGit({ protocols: ["file", "git"], ...(limits && { limits }) })

/** Fetches, and asserts that it is refused and leaves nothing. */
async function assertRefused(
  fetch: (folder: string) => Promise<unknown>,
  code: SourceFailed["code"],
  words: RegExp,
): Promise<void> {
  const place = temporaryFolder()
  await assert.rejects(fetch(join(place, "tree")), (error) => {
    assert.ok(error instanceof SourceFailed, String(error))
    assert.deepEqual([error.code, error.isTransient], [code, false])
    assert.match(error.message, words)
    return true
  })
  assert.deepEqual(readdirSync(place), [])
}

const assertRepositoryRefused = (
  it: { url: string; sha: string; ref?: string; limits?: GitSettings["limits"] },
  words: RegExp,
) =>
  assertRefused(
    (folder) => sourceWith(it.limits).fetch({ repoUrl: it.url, ref: it.ref ?? "main" }, it.sha, folder, signal),
    "source_too_big",
    words,
  )

test("a repository of ten objects that is ten billion files is refused before a file is written", async () => {
  const { url, folder } = bareRepository(temporaryFolder())
  const git = (args: string[], input = "") =>
    execFileSync("git", ["-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", ...args], {
      input,
      encoding: "utf8",
    }).trim()
  let entry = `100644 blob ${git(["hash-object", "-w", "--stdin"], "x")}`
  for (let level = 0; level < 10; level++) {
    const names = Array.from({ length: 10 }, (_, index) => `${entry}\tf${index}\n`)
    entry = `040000 tree ${git(["mktree"], names.join(""))}`
  }
  const sha = git(["commit-tree", "-m", "bomb", entry.slice("040000 tree ".length)])
  git(["update-ref", "refs/heads/main", sha])

  await assertRepositoryRefused({ url, sha }, /has more than 200000 files and folders/)
})

test("a repository that is small, and whose files are, but not both together, is refused", async () => {
  const repository = bareRepository(temporaryFolder())
  // Of hexadecimal digits half remains when they are packed.
  const sha = repository.commit({ "digits.txt": randomBytes(4_000_000).toString("hex") })
  const limits = { entries: 100, bytes: 10 * 1024 * 1024 }

  await assertRepositoryRefused({ url: repository.url, sha, limits }, /needs more than 10 MB of disk/)
})

test("a repository that never ends is refused while it is fetched", async () => {
  await using server = await endlessGitServer()
  const limits = { entries: 100, bytes: 20 * 1024 * 1024 }

  await assertRepositoryRefused({ ...server, limits }, /needs more than 20 MB of disk/)
})

test("a host whose list of refs never ends gets no more memory than git may use", {
  skip: process.platform !== "linux" && "prlimit is a program of Linux",
}, async () => {
  await using server = await endlessRefsServer()
  const source = testGit({ protocols: ["git"], memoryMb: { list: 48, other: 48 } })

  await assert.rejects(source.resolve({ repoUrl: server.url, ref: "main" }, signal), (error) => {
    assert.ok(error instanceof SourceFailed, String(error))
    assert.deepEqual([error.code, error.isTransient], ["source_too_big", false])
    return true
  })
})

test("of a host that lists more than it was asked for, only a little is read", async () => {
  const repository = bareRepository(temporaryFolder())
  const sha = repository.commit({ "a.txt": "1" })
  // Git matches the end of a name, so each of these is one that was asked for.
  const refs = Array.from(
    { length: 20_000 },
    (_, n) => `${sha} refs/heads/${String(n).padStart(6, "0")}/refs/heads/main\n`,
  )
  writeFileSync(
    join(repository.folder, "packed-refs"),
    `# pack-refs with: peeled fully-peeled sorted \n${refs.join("")}`,
  )

  const resolving = sourceWith().resolve({ repoUrl: repository.url, ref: "main" }, signal)

  await assert.rejects(resolving, (error) => error instanceof SourceFailed && error.code === "source_too_big")
})

test("a repository within the limits is fetched", async () => {
  const repository = bareRepository(temporaryFolder())
  const sha = repository.commit({ "a/b.txt": "0".repeat(1000), "c.txt": "c" })
  const folder = join(temporaryFolder(), "tree")
  const limits = { entries: 3, bytes: 4 * 1024 * 1024 }

  await sourceWith(limits).fetch({ repoUrl: repository.url, ref: "main" }, sha, folder, signal)
  const short = { url: repository.url, sha, limits: { ...limits, entries: 2 } }
  await assertRepositoryRefused(short, /has more than 2 files and folders/)

  assert.deepEqual(readdirSync(folder).sort(), ["a", "c.txt"])
})

test("the files of a commit are summed up, wherever a piece of git's output ends", () => {
  const id = "0123456789abcdef0123456789abcdef01234567"
  const output = Buffer.from(
    [
      `040000 tree ${id}       -\tsub`,
      `100644 blob ${id}      12\tsub/a b\t1.txt`,
      `120000 blob ${id}       5\tlink`,
      `160000 commit ${id}       -\tmodule`,
      `100755 blob ${id} 123456789\tüber`,
      `100644 blob ${id}     130\tmodel.bin`,
      "",
    ].join("\0"),
  )

  for (const step of [1, 7, output.length]) {
    const meter = treeMeter()
    let sum = { entries: 0, bytes: 0 }
    for (let at = 0; at < output.length; at += step) sum = meter.add(output.subarray(at, at + step))
    assert.deepEqual(sum, { entries: 6, bytes: 123_456_936 })
    assert.deepEqual([meter.submodules, meter.maybePointers], [["module"], ["model.bin"]])
  }
})

test("an archive with few files in very many folders is refused", async () => {
  const deep = Array.from({ length: 60 }, (_, n) => ({ path: `${n}/${"d/".repeat(45)}f` }))
  const location = uploaded(tarGz(deep))
  const source = archiveSource({ ...archiveLimits, entries: 2000 })

  await assertRefused(
    (folder) => source.fetch(location, `sha256:${location.sha256}`, folder, signal),
    "archive_too_big",
    /has more than 2000 files and folders/,
  )
})

test("an archive with too many entries is refused before a file of it is written", async () => {
  const location = uploaded(tarGz(Array.from({ length: 3000 }, (_, n) => ({ path: `f${n}` }))))
  const place = temporaryFolder()
  let reads = 0
  const written = new Set<string>()
  async function* read() {
    reads++
    for await (const piece of location.read()) {
      for (let at = 0; at < piece.length; at += 100) {
        yield piece.subarray(at, at + 100)
        for (const name of readdirSync(place, { recursive: true, encoding: "utf8" })) written.add(name)
      }
    }
  }
  const source = archiveSource({ ...archiveLimits, entries: 2999 })

  const fetching = source.fetch({ ...location, read }, `sha256:${location.sha256}`, join(place, "tree"), signal)

  await assert.rejects(fetching, /has more than 2999 entries/)
  assert.deepEqual([reads, [...written], readdirSync(place)], [1, ["tree.partial"], []])
})
