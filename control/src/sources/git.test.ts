import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import test from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { gitSource } from "./git.js"
import { gitEnvironment } from "./git-command.js"
import { makeGitHome } from "./git-home.js"
import { SourceFailed } from "./port.js"
import { bareRepository } from "./testing/bare-repository.js"

const { signal } = new AbortController()
const environment = { PATH: process.env.PATH }
const homeFolder = join(temporaryFolder(), "home")
const keysFolder = join(temporaryFolder(), "keys")
const source = gitSource({ protocols: ["file", "http"], environment, timeoutMs: 20_000, homeFolder, keysFolder })

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

test("a fetch yields the tree of the commit without a repository, also if repeated", async () => {
  const repository = bareRepository(temporaryFolder())
  const first = repository.commit({ "a.txt": "1", "sub/b.txt": "b" })
  repository.commit({ "a.txt": "2" })
  const folder = join(temporaryFolder(), "tree")
  mkdirSync(`${folder}.partial`)
  writeFileSync(join(`${folder}.partial`, "left"), "by a killed fetch")

  const location = { repoUrl: repository.url, ref: "main" }
  const commit = await source.fetch(location, first, folder, signal)
  const again = await source.fetch(location, first, folder, signal)

  assert.deepEqual(again, commit)
  assert.deepEqual(commit.commit, { sha: first, author: "Ada", message: "change main" })
  assert.deepEqual(readdirSync(folder).sort(), ["a.txt", "sub"])
  assert.equal(readFileSync(join(folder, "a.txt"), "utf8"), "1")
  assert.ok(!existsSync(`${folder}.partial`))
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

test("errors distinguish a wrong address from a wrong ref", async () => {
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
  const strict = gitSource({ protocols: ["https"], environment, timeoutMs: 20_000, homeFolder, keysFolder })
  const local = strict.resolve({ repoUrl: repository.url, ref: "main" }, signal)
  await assert.rejects(local, failsWith("source_unsupported", /SUPERSTEP_GIT_PROTOCOLS/))
})

test("a commit that is not in the repository is not found", async () => {
  const repository = bareRepository(temporaryFolder())
  repository.commit({ "a.txt": "1" })
  const sha = "0123456789abcdef0123456789abcdef01234567"
  const folder = join(temporaryFolder(), "tree")

  const fetching = source.fetch({ repoUrl: repository.url, ref: sha }, sha, folder, signal)

  await assert.rejects(fetching, failsWith("ref_not_found", /0123456/))
  assert.ok(!existsSync(folder))
})

test("errors distinguish a host that requires a token from an unreachable one", async (t) => {
  const seen: (string | undefined)[] = []
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization)
    response.writeHead(request.headers.authorization ? 404 : 401, { "www-authenticate": "Basic" }).end()
  }).listen(0, "127.0.0.1")
  t.after(() => server.close())
  await new Promise((resolve) => server.once("listening", resolve))
  const { port } = server.address() as AddressInfo
  const repoUrl = `http://127.0.0.1:${port}/a.git`
  const credentials = { kind: "token", host: `127.0.0.1:${port}`, username: "ada", token: new Secret("t0ken") } as const

  await assert.rejects(source.resolve({ repoUrl, ref: "main" }, signal), failsWith("source_auth", /refused/))
  const withToken = source.resolve({ repoUrl, ref: "main", credentials }, signal)
  await assert.rejects(withToken, failsWith("source_not_found", /no repository/))
  assert.equal(seen.at(-1), `Basic ${Buffer.from("ada:t0ken").toString("base64")}`)
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))

  const unreachable = source.resolve({ repoUrl, ref: "main" }, signal)
  await assert.rejects(unreachable, (error) => error instanceof SourceFailed && error.isTransient)
})

test("credentials in the operator's .netrc are sent to no host", async (t) => {
  const seen: (string | undefined)[] = []
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization)
    response.writeHead(401, { "www-authenticate": "Basic" }).end()
  }).listen(0, "127.0.0.1")
  t.after(() => server.close())
  await new Promise((resolve) => server.once("listening", resolve))
  const { port } = server.address() as AddressInfo
  const home = temporaryFolder()
  writeFileSync(join(home, ".netrc"), "machine 127.0.0.1 login operator password theirs\n")
  const asOperator = gitSource({
    protocols: ["http"],
    environment: { ...environment, HOME: home },
    timeoutMs: 20_000,
    homeFolder,
    keysFolder,
  })

  const resolving = asOperator.resolve({ repoUrl: `http://127.0.0.1:${port}/a.git`, ref: "main" }, signal)

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

test("an aborted fetch rejects with an abort, not with a fault of the repository", async () => {
  const repository = bareRepository(temporaryFolder())
  repository.commit({ "a.txt": "1" })

  const resolving = source.resolve({ repoUrl: repository.url, ref: "main" }, AbortSignal.abort())

  await assert.rejects(resolving, { name: "AbortError" })
})
