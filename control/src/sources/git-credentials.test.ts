/** Credentials reach only their own host: no argument list, no message, no other host contains them. */

import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { userInfo } from "node:os"
import { join } from "node:path"
import test from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { SourceFailed } from "./port.js"
import { bareRepository } from "./testing/bare-repository.js"
import { testGit } from "./testing/git-source.js"
import { httpGitServer } from "./testing/http-git-server.js"
import { sshKeyPair } from "./testing/ssh-key-pair.js"

const { signal } = new AbortController()
const keysFolder = join(temporaryFolder(), "keys")
const source = testGit({ protocols: ["http", "ssh"], keysFolder })

const token = "ghp_never_in_an_argument"
const basic = Buffer.from(`ada:${token}`).toString("base64")
const tokenFor = (host: string, text = token) =>
  ({ kind: "token", host, username: "ada", token: new Secret(text) }) as const

test("git authenticates with the token, which is in no process's arguments", async () => {
  const parent = temporaryFolder()
  const repository = bareRepository(parent)
  const sha = repository.commit({ "a.txt": "1" })
  await using server = await httpGitServer(parent, `Basic ${basic}`)
  const location = { repoUrl: server.urlOf(repository.folder), ref: "main", credentials: tokenFor(server.host) }
  const tree = join(temporaryFolder(), "tree")

  const resolved = await source.resolve(location, signal)
  await source.fetch(location, sha, tree, signal)

  assert.equal(resolved, sha)
  assert.deepEqual(readdirSync(tree), ["a.txt"])
  assert.ok(
    server.seenArguments.some((line) => line.includes(location.repoUrl)),
    "git was seen while it ran",
  )
  for (const line of server.seenArguments) assert.ok(!line.includes(token) && !line.includes(basic))
})

test("a host's message about a refused token is shown without the token", async () => {
  const parent = temporaryFolder()
  const repository = bareRepository(parent)
  repository.commit({ "a.txt": "1" })
  await using server = await httpGitServer(parent, "Basic other")
  const location = { repoUrl: server.urlOf(repository.folder), ref: "main", credentials: tokenFor(server.host) }

  const error = await source.resolve(location, signal).then(
    () => undefined,
    (reason: unknown) => reason,
  )

  assert.ok(error instanceof SourceFailed)
  assert.equal(error.code, "source_auth")
  const reported = JSON.stringify([error.message, error.stack, error.cause])
  assert.ok(!reported.includes(token) && !reported.includes(basic), reported)
})

test("a token is not sent to other hosts, also after a redirect", async () => {
  const seen: (string | undefined)[] = []
  await using thief = await portServer((request, response) => {
    seen.push(request.headers.authorization)
    response.writeHead(404).end()
  })
  const thiefUrl = thief.origin.replace("127.0.0.1", "localhost")
  await using redirecting = await portServer((request, response) => {
    response.writeHead(302, { location: `${thiefUrl}${request.url}` }).end()
  })
  const { host, origin } = redirecting

  const redirected = source.resolve({ repoUrl: `${origin}/a.git`, ref: "main", credentials: tokenFor(host) }, signal)
  await assert.rejects(redirected, SourceFailed)
  const redirectedRequests = seen.length
  const foreign = source.resolve({ repoUrl: `${thiefUrl}/a.git`, ref: "main", credentials: tokenFor(host) }, signal)
  await assert.rejects(foreign, SourceFailed)

  assert.equal(redirectedRequests, 0)
  assert.deepEqual([...new Set(seen)], [undefined])
})

const sshd = "/usr/sbin/sshd"
const withoutSshd =
  (process.env.SUPERSTEP_WIDE_TESTS !== "1" && "needs an ssh server: SUPERSTEP_WIDE_TESTS=1 runs it") ||
  (!existsSync(sshd) && "openssh-server is not installed")

test("git authenticates with the ssh key, to the pinned host only, and the key is deleted afterwards", {
  skip: withoutSshd,
}, async (t) => {
  const parent = temporaryFolder()
  const repository = bareRepository(parent)
  const sha = repository.commit({ "a.txt": "1" })
  const [hostKey, own, foreign] = [sshKeyPair("ed25519"), sshKeyPair("ed25519"), sshKeyPair("rsa")]
  const port = await freePort()
  const config = join(parent, "sshd_config")
  writeFileSync(join(parent, "authorized_keys"), `${own.publicKey}\n`, { mode: 0o600 })
  const lines = [
    `Port ${port}`,
    "ListenAddress 127.0.0.1",
    `HostKey ${hostKey.privateKeyFile}`,
    `AuthorizedKeysFile ${join(parent, "authorized_keys")}`,
    "PasswordAuthentication no",
    "KbdInteractiveAuthentication no",
    "UsePAM no",
    "StrictModes no",
    "PermitRootLogin prohibit-password",
    `PidFile ${join(parent, "sshd.pid")}`,
  ]
  writeFileSync(config, `${lines.join("\n")}\n`)
  // A service manager creates it, where there is one; sshd needs it when root runs it.
  if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true, mode: 0o755 })
  const server = spawn(sshd, ["-D", "-e", "-f", config], { stdio: "ignore" })
  t.after(async () => {
    server.kill()
    if (server.exitCode === null) await once(server, "exit")
  })
  await until(() => existsSync(join(parent, "sshd.pid")), { what: "sshd listens" })
  const repoUrl = `ssh://${userInfo().username}@127.0.0.1:${port}${repository.folder}`
  const locate = (privateKey: string, pinned: string | null) =>
    ({
      repoUrl,
      ref: "main",
      credentials: {
        kind: "ssh_key",
        host: `127.0.0.1:${port}`,
        privateKey: new Secret(privateKey),
        knownHosts: pinned,
      },
    }) as const
  const known = `[127.0.0.1]:${port} ${hostKey.publicKey}`
  const other = `[127.0.0.1]:${port} ${sshKeyPair("ed25519").publicKey}`

  assert.equal(await source.resolve(locate(own.privateKey, known), signal), sha)
  await assert.rejects(source.resolve(locate(foreign.privateKey, known), signal), { code: "source_auth" })
  await assert.rejects(source.resolve(locate(own.privateKey, other), signal), { code: "source_auth" })
  assert.deepEqual(readdirSync(keysFolder), [])
})

test("an ssh key is a file that only we may read, which exists while git runs", async () => {
  const { privateKey } = sshKeyPair("ed25519")
  const seen = join(temporaryFolder(), "seen")
  const tools = temporaryFolder()
  // In place of ssh: records its arguments, and exits.
  const notes = `#!/bin/sh\nfor a in "$@"; do case "$a" in -oIdentityFile=*) f=$(echo "\${a#*=}" | tr -d '"');; esac; done\n`
  writeFileSync(
    join(tools, "ssh"),
    `${notes}stat -c '%a %U' "$f" > ${seen}\ncat "$f" >> ${seen}\necho "$@" >> ${seen}\nexit 255\n`,
    {
      mode: 0o755,
    },
  )
  const environment = { PATH: `${tools}:${process.env.PATH}` }
  const withTool = testGit({ protocols: ["ssh"], environment, keysFolder })
  const credentials = {
    kind: "ssh_key",
    host: "git.acme.test",
    privateKey: new Secret(privateKey),
    knownHosts: null,
  } as const

  await assert.rejects(withTool.resolve({ repoUrl: "git@git.acme.test:a.git", ref: "main", credentials }, signal))
  const [mode, ...rest] = readFileSync(seen, "utf8").split("\n")

  assert.equal(mode, `600 ${execFileSync("id", ["-un"], { encoding: "utf8" }).trim()}`)
  assert.equal(rest.slice(0, privateKey.trim().split("\n").length).join("\n"), privateKey.trim())
  const [, secretLine = ""] = privateKey.split("\n")
  assert.ok(!rest.at(-2)?.includes(secretLine))
  assert.deepEqual(readdirSync(keysFolder), [])
})
