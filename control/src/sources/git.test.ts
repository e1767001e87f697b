import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net"
import { join } from "node:path"
import test, { type TestContext } from "node:test"
import { fileURLToPath } from "node:url"
import { Secret } from "@superstep/toolkit/config/settings"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { resetSocket } from "@superstep/toolkit/testing/reset-socket"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { gitEnvironment } from "./git-command.js"
import { classifyGitFailure } from "./git-failure.js"
import { makeGitHome } from "./git-home.js"
import { SourceFailed } from "./port.js"
import { bareRepository } from "./testing/bare-repository.js"
import { testGit } from "./testing/git-source.js"
import { unreadablePart } from "./unreadable-repository.js"

const { signal } = new AbortController()
const environment = { PATH: process.env.PATH }
const source = testGit({ protocols: ["file", "http"] })

const failsWith = (code: string, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof SourceFailed, String(error))
  assert.equal(error.code, code)
  assert.match(error.message, words)
  return true
}

test("branches, tags, annotated tags and commit ids resolve to their commit", async () => {
  const repository = bareRepository(temporaryFolder())
  const first = repository.commit({ "a.txt": "1" })
  repository.git("tag", "light", first)
  repository.git("-c", "user.name=a", "-c", "user.email=a@b", "tag", "-a", "v1", "-m", "one", first)
  const second = repository.commit({ "a.txt": "2" })
  const resolve = (ref: string) => source.resolve({ repoUrl: repository.url, ref }, signal)

  assert.equal(await resolve("main"), second)
  assert.equal(await resolve("refs/heads/main"), second)
  assert.equal(await resolve("light"), first)
  assert.equal(await resolve("refs/tags/v1"), first)
  assert.equal(await resolve(first), first)
})

test("files of other users in the temporary folder do not affect git", async (t) => {
  const [wanted, other] = [bareRepository(temporaryFolder()), bareRepository(temporaryFolder())]
  const commit = wanted.commit({ "a.txt": "1" })
  other.commit({ "a.txt": "2" })
  const shared = temporaryFolder()
  writeFileSync(join(shared, `superstep-git-${process.getuid?.() ?? "home"}`), "made by somebody else")
  execFileSync("git", ["init", "--quiet", shared])
  execFileSync("git", ["-C", shared, "config", `url.${other.url}.insteadOf`, wanted.url])
  const { TMPDIR } = process.env
  t.after(() => (TMPDIR === undefined ? delete process.env.TMPDIR : Object.assign(process.env, { TMPDIR })))
  process.env.TMPDIR = shared

  assert.equal(await source.resolve({ repoUrl: wanted.url, ref: "main" }, signal), commit)
})

test("a fetch yields the tree of the commit, which need not be the newest, and who made it", async () => {
  const repository = bareRepository(temporaryFolder())
  const first = repository.commit({ "a.txt": "1" })
  repository.commit({ "a.txt": "2" })
  const folder = join(temporaryFolder(), "tree")

  const { commit } = await source.fetch({ repoUrl: repository.url, ref: "main" }, first, folder, signal)

  assert.deepEqual(commit, { sha: first, author: "Ada", message: "change main" })
  assert.equal(readFileSync(join(folder, "a.txt"), "utf8"), "1")
})

test("a hostile commit's message and author are one clean, bounded line each", async () => {
  const repository = bareRepository(temporaryFolder())
  const first = repository.commit({ "a.txt": "1" })
  const tree = repository.git("rev-parse", `${first}^{tree}`)
  const author = `A\u202eda\u001f\u001b[31m <ada@example.com> 1700000000 +0000`
  const hostile = `tree ${tree}\nauthor ${author}\ncommitter ${author}\n\n\u001fBob\u001f ${"x".repeat(2_000_000)}\n\nwhy\n`
  const written = ["-C", fileURLToPath(repository.url), "hash-object", "-t", "commit", "-w", "--stdin"]
  const sha = execFileSync("git", written, { input: hostile, encoding: "utf8" }).trim()
  repository.git("update-ref", "refs/heads/main", sha)

  const { commit } = await source.fetch(
    { repoUrl: repository.url, ref: "main" },
    sha,
    join(temporaryFolder(), "tree"),
    signal,
  )

  assert.equal(commit?.sha, sha)
  assert.equal(commit?.author, "Ada [31m")
  assert.match(commit?.message ?? "", /^Bob x+…$/)
  assert.equal(commit?.message.length, 500)
})

test("a server that does not serve commit ids is asked for the branch", async () => {
  const repository = bareRepository(temporaryFolder())
  const first = repository.commit({ "a.txt": "1" })
  repository.git("config", "uploadpack.allowAnySHA1InWant", "false")
  repository.commit({ "a.txt": "2" })
  repository.git("config", "protocol.version", "0")
  const folder = join(temporaryFolder(), "tree")

  await source.fetch({ repoUrl: repository.url, ref: "main" }, first, folder, signal)

  assert.equal(readFileSync(join(folder, "a.txt"), "utf8"), "1")
})

test("errors distinguish a wrong address from a wrong ref, and a commit that is not in the repository", async () => {
  const repository = bareRepository(temporaryFolder())
  repository.commit({ "a.txt": "1" })
  const resolve = (repoUrl: string, ref = "main") => source.resolve({ repoUrl, ref }, signal)

  await assert.rejects(resolve(repository.url, "nope"), failsWith("ref_not_found", /no branch, tag or commit "nope"/))
  await assert.rejects(resolve(repository.url, "--exec=x"), failsWith("ref_not_found", /cannot be the name/))
  await assert.rejects(resolve("file:///no/such.git"), failsWith("source_not_found", /no repository/))
  await assert.rejects(resolve("ssh://git@localhost/a.git"), failsWith("source_unsupported", /SUPERSTEP_GIT_PROTOCOLS/))
  await assert.rejects(resolve("--upload-pack=x"), failsWith("source_not_found", /not the address/))
  const trace = join(temporaryFolder(), "ran")
  await assert.rejects(resolve(`ext::touch ${trace}`), failsWith("source_unsupported", /SUPERSTEP_GIT_PROTOCOLS/))
  assert.ok(!existsSync(trace), "a program was run from an address")
  const local = testGit({ protocols: ["https"] }).resolve({ repoUrl: repository.url, ref: "main" }, signal)
  await assert.rejects(local, failsWith("source_unsupported", /SUPERSTEP_GIT_PROTOCOLS/))

  const sha = "0123456789abcdef0123456789abcdef01234567"
  const folder = join(temporaryFolder(), "tree")

  const fetching = source.fetch({ repoUrl: repository.url, ref: sha }, sha, folder, signal)

  await assert.rejects(fetching, failsWith("ref_not_found", /0123456/))
  assert.ok(!existsSync(folder))
})

test("errors distinguish a host that requires a token from an unreachable one", async () => {
  const seen: (string | undefined)[] = []
  await using server = await portServer((request, response) => {
    seen.push(request.headers.authorization)
    response.writeHead(request.headers.authorization ? 404 : 401, { "www-authenticate": "Basic" }).end()
  })
  const repoUrl = `${server.origin}/a.git`
  const credentials = { kind: "token", host: server.host, username: "ada", token: new Secret("t0ken") } as const

  await assert.rejects(source.resolve({ repoUrl, ref: "main" }, signal), failsWith("source_auth", /refused/))
  const withToken = source.resolve({ repoUrl, ref: "main", credentials }, signal)
  await assert.rejects(withToken, failsWith("source_not_found", /no repository/))
  assert.equal(seen.at(-1), `Basic ${Buffer.from("ada:t0ken").toString("base64")}`)
  await server[Symbol.asyncDispose]()

  const unreachable = source.resolve({ repoUrl, ref: "main" }, signal)
  await assert.rejects(unreachable, (error) => error instanceof SourceFailed && error.isTransient)
})

test("credentials in the operator's .netrc are sent to no host", async () => {
  const seen: (string | undefined)[] = []
  await using server = await portServer((request, response) => {
    seen.push(request.headers.authorization)
    response.writeHead(401, { "www-authenticate": "Basic" }).end()
  })
  const home = temporaryFolder()
  writeFileSync(join(home, ".netrc"), "machine 127.0.0.1 login operator password theirs\n")
  const asOperator = testGit({ protocols: ["http"], environment: { ...environment, HOME: home } })

  const resolving = asOperator.resolve({ repoUrl: `${server.origin}/a.git`, ref: "main" }, signal)

  await assert.rejects(resolving, failsWith("source_auth", /refused/))
  assert.deepEqual([...new Set(seen)], [undefined])
})

test("ssh uses none of the operator's keys and configuration, and stores host keys in a file of ours", async () => {
  const { knownHosts, emptyFolder } = await makeGitHome(join(temporaryFolder(), "it's here"))
  const env = gitEnvironment({
    base: environment,
    home: { knownHosts, emptyFolder },
    protocols: ["ssh"],
    repoUrl: "ssh://git@host.test/a.git",
  })

  const settings = execFileSync("sh", ["-c", `${env.GIT_SSH_COMMAND} -G host.test`], { encoding: "utf8", env })

  assert.match(settings, /^identityfile none$/m)
  assert.match(settings, /^identityagent none$/m)
  assert.match(settings, /^batchmode yes$/m)
  assert.match(settings, /^stricthostkeychecking accept-new$/m)
  assert.ok(settings.split("\n").includes(`userknownhostsfile ${knownHosts}`), settings)
})

/** A host that answers each request with these bytes, and then ends or cuts the connection. */
async function hostThatSends(t: TestContext) {
  let answer = (socket: Socket): unknown => socket.destroy()
  const server = createTcpServer((socket) => {
    socket.on("error", () => undefined)
    socket.once("data", () => answer(socket))
  }).listen(0, "127.0.0.1")
  t.after(() => server.close())
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return { repoUrl: `http://127.0.0.1:${port}/a.git`, answerWith: (next: typeof answer) => (answer = next) }
}
const http = (status: string, body = "") =>
  `HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`

test("a host that is busy or broken is not a missing repository, and is asked again", async (t) => {
  const { repoUrl, answerWith } = await hostThatSends(t)
  const begun = http("200 OK", "x".repeat(1000))
    .replace("text/plain", "application/x-git-upload-pack-advertisement")
    .slice(0, -900)
  const ends = (text: string) => (socket: Socket) => socket.end(text)
  const answers: [string, (socket: Socket) => unknown, RegExp][] = [
    ["429", ends(http("429 Too Many Requests")), /answered 429: too many requests$/],
    ["a limit by 403", ends(http("403 Forbidden", "API rate limit exceeded")), /answered 403: too many requests$/],
    ["418", ends(http("418 I'm a teapot")), /answered 418$/],
    ["503", ends(http("503 Service Unavailable")), /answered 503$/],
    ["no answer", ends(""), /cannot be reached: .*Empty reply/],
    ["a reset", resetSocket, /cannot be reached/],
    ["a cut answer", (socket) => socket.write(begun, () => socket.destroy()), /cannot be reached/],
    ["another protocol", ends("SSH-2.0-OpenSSH_9.9\r\n"), /cannot be reached/],
    ["a page of maintenance", ends(http("200 OK", "<h1>Back soon</h1>")), /lists no branch and no tag/],
  ]

  for (const [what, answer, words] of answers) {
    answerWith(answer)
    await assert.rejects(source.resolve({ repoUrl, ref: "main" }, signal), (error) => {
      assert.ok(error instanceof SourceFailed, what)
      assert.match(error.message, words, what)
      assert.ok(error.isTransient, what)
      return true
    })
  }
  answerWith(ends(http("404 Not Found")))
  await assert.rejects(source.resolve({ repoUrl, ref: "main" }, signal), failsWith("source_not_found", /no repository/))
  answerWith(ends(http("403 Forbidden")))
  await assert.rejects(source.resolve({ repoUrl, ref: "main" }, signal), failsWith("source_auth", /refused/))
})

test("whatever ssh and other hosts say, only their own words make a repository missing", () => {
  const end =
    "fatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists."
  const cases: readonly (readonly [lastLines: string, expected: string])[] = [
    [`kex_exchange_identification: Connection closed by remote host\n${end}`, "again"],
    [`Connection closed by 10.0.0.1 port 22\n${end}`, "again"],
    [end, "again"],
    ["", "again"],
    ["error: cannot run ssh: No such file or directory\nfatal: unable to fork", "again"],
    ["fatal: expected flush after ref listing", "again"],
    [`ERROR: Repository not found.\n${end}`, "source_not_found"],
    [`git@h: Permission denied (publickey).\n${end}`, "source_auth"],
  ]
  for (const [lastLines, expected] of cases) {
    const failed = { exitCode: 128, killedBy: undefined, lastLines }
    const { code, isTransient, message } = classifyGitFailure(failed, "ssh://h/a.git", "main")
    assert.equal(isTransient ? "again" : code, expected, lastLines)
    assert.doesNotMatch(message, /could not read from remote/i)
  }
  const unknown = {
    exitCode: 128,
    killedBy: undefined,
    lastLines: `ssh: Could not resolve hostname h: Name or service not known\n${end}`,
  }
  const { message } = classifyGitFailure(unknown, "ssh://h/a.git", "main")
  assert.equal(message, "ssh://h/a.git cannot be reached: ssh: Could not resolve hostname h: Name or service not known")
})

test("a repository that our user may not read is named with that user", async (t) => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, "closed"))
  const repository = bareRepository(join(folder, "closed"))
  chmodSync(join(folder, "closed"), 0o700)
  chmodSync(folder, 0o755)
  const isRoot = process.getuid?.() === 0
  if (!isRoot) chmodSync(join(folder, "closed"), 0o000)
  else {
    // Root may read everything.
    process.seteuid?.(65_534)
    t.after(() => process.seteuid?.(0))
  }
  t.after(() => chmodSync(join(folder, "closed"), 0o700))

  const words = await unreadablePart(repository.url)

  assert.match(words ?? "", /^the user \S+ cannot read \S+closed\S*: let this user read the repository/)
  assert.equal(await unreadablePart("file:///no/such.git"), undefined)
  assert.equal(await unreadablePart("file:///no%2fsuch.git"), undefined)
  assert.equal(await unreadablePart("https://example.org/a.git"), undefined)
})

test("submodules and pointers of Git LFS are named, since they are not fetched", async () => {
  const repository = bareRepository(temporaryFolder())
  const oid = "0".repeat(64)
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize 123456\n`
  const first = repository.commit({ "model.bin": pointer, "as-long.txt": "x".repeat(pointer.length) })
  const entries = `${repository.git("ls-tree", first)}\n160000 commit ${first}\twords\n`
  const tree = execFileSync("git", ["-C", repository.folder, "mktree", "--missing"], {
    input: entries,
    encoding: "utf8",
  }).trim()
  const sha = repository.git("-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", "-m", "with a submodule", tree)
  repository.git("update-ref", "refs/heads/main", sha)
  const folder = join(temporaryFolder(), "tree")

  const { notes } = await source.fetch({ repoUrl: repository.url, ref: "main" }, sha, folder, signal)

  assert.deepEqual(notes, [
    "words is a git submodule, which is not fetched: add its files to the repository",
    "model.bin is a pointer of Git LFS, whose file is not fetched: add the file itself to the repository",
  ])
  assert.equal(existsSync(join(folder, "as-long.txt")), true)
})
