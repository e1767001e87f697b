import assert from "node:assert/strict"
import test from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import { gitEnvironment, lsRemoteArguments, parseRef } from "./git-command.js"
import { credentialsApply } from "./git-location.js"

const sha = "0123456789abcdef0123456789abcdef01234567"

test("a ref is a commit id, or a name that is first looked up as a branch", () => {
  assert.deepEqual(parseRef(sha), { kind: "sha", sha })
  assert.deepEqual(parseRef("main"), { kind: "named", candidates: ["refs/heads/main", "refs/tags/main"] })
  assert.deepEqual(parseRef("feature/x.y"), {
    kind: "named",
    candidates: ["refs/heads/feature/x.y", "refs/tags/feature/x.y"],
  })
  assert.deepEqual(parseRef("refs/tags/v1"), { kind: "named", candidates: ["refs/tags/v1"] })
})

const refused = [
  "",
  "@",
  "-main",
  "--upload-pack=x",
  "a..b",
  "a b",
  "a\nb",
  "a~1",
  "a^",
  "a:b",
  "a?",
  "a*",
  "a[",
  "a\\b",
]
for (const ref of [...refused, "/a", "a/", "a.", "a//b", "a@{1}", "a.lock", "a/.b", "x".repeat(300)]) {
  test(`the ref ${JSON.stringify(ref.slice(0, 20))} is refused`, () => {
    assert.equal(parseRef(ref), undefined)
  })
}

test("the address and the refs come after the end of options", () => {
  const args = lsRemoteArguments("https://example.org/a.git", ["refs/heads/main"])

  assert.deepEqual(args.slice(args.indexOf("--")), [
    "--",
    "https://example.org/a.git",
    "refs/heads/main",
    "refs/heads/main^{}",
  ])
  assert.ok(args.includes("--heads"), "the host need not send anything else")
  assert.ok(!lsRemoteArguments("u", ["refs/pull/1/head"]).includes("--heads"))
})

const home = { emptyFolder: "/run/empty", knownHosts: "/run/it's/known_hosts" }
const credentials = {
  kind: "token",
  host: "git.example.org:3000",
  username: "ada",
  token: new Secret("t0ken-of-ada"),
} as const

test("nothing else of our environment reaches git", () => {
  const base = {
    PATH: "/bin",
    HOME: "/home/operator",
    SSH_AUTH_SOCK: "/run/agent",
    DATABASE_URI: "postgres://secret",
    GIT_DIR: "/tmp/elsewhere",
  }

  const env = gitEnvironment({ base, home, protocols: ["https", "ssh"], repoUrl: "https://example.org/a.git" })

  assert.equal(env.PATH, "/bin")
  assert.equal(env.DATABASE_URI, undefined)
  assert.equal(env.GIT_DIR, undefined)
  assert.equal(env.SSH_AUTH_SOCK, undefined)
  assert.equal(env.HOME, home.emptyFolder)
  assert.equal(env.GIT_ALLOW_PROTOCOL, "https:ssh")
  assert.equal(env.GIT_TERMINAL_PROMPT, "0")
})

test("a key is for ssh addresses of its own host, in both their forms, and a token for its own port", () => {
  const key = { kind: "ssh_key", host: "git.example.org", privateKey: new Secret("-"), knownHosts: null } as const

  assert.equal(credentialsApply("ssh://git@git.example.org/a.git", key), true)
  assert.equal(credentialsApply("ssh://git@git.example.org:22/a.git", key), true)
  assert.equal(credentialsApply("git@Git.Example.org:acme/a.git", key), true)
  assert.equal(credentialsApply("ssh://git@git.example.org:2222/a.git", key), false)
  assert.equal(credentialsApply("ssh://git@git.example.org:2222/a.git", { ...key, host: "git.example.org:2222" }), true)
  assert.equal(credentialsApply("https://git.example.org/a.git", key), false)
  assert.equal(credentialsApply("git@git.example.org.evil.test:acme/a.git", key), false)
  assert.equal(credentialsApply("ssh://git@git.example.org/a.git", { ...credentials, host: "git.example.org" }), false)
  assert.equal(credentialsApply("https://git.example.org/a.git", credentials), false, "of another port")
})
