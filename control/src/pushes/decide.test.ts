import assert from "node:assert/strict"
import { test } from "node:test"
import { emptySourceConfig } from "../deployments/deployment.js"
import { isWatched, watchPathProblem } from "../revisions/watch-paths.js"
import { decidePush } from "./decide.js"
import type { Push } from "./push.js"
import { repositoryKey, repositoryPath } from "./repository-key.js"

const change: Push = {
  kind: "push",
  repositories: [],
  ref: "refs/heads/main",
  after: "b".repeat(40),
  isCreated: false,
  commits: 1,
  message: "a change",
  changedPaths: ["agents/shop/chat.ts", "README.md"],
}
const decide = (push: Partial<Push>, repo_ref = "main", watch_paths: string[] | null = null, build_on_push = true) =>
  decidePush({ source_config: { ...emptySourceConfig, build_on_push, watch_paths }, repo_ref }, { ...change, ...push })
const isBuilt = (...given: Parameters<typeof decide>) => "build" in decide(...given)

const branches: readonly (readonly [ref: string, repo_ref: string, isBuilt: boolean])[] = [
  ["refs/heads/main", "refs/heads/main", true],
  ["refs/heads/feature/x", "feature/x", true],
  ["refs/heads/feature/main", "main", false],
  ["refs/heads/x", "feature/x", false],
  ["refs/heads/Main", "main", false],
  ["refs/tags/main", "main", false],
  ["refs/tags/v1", "refs/tags/v1", false],
  [`refs/heads/${"c".repeat(40)}`, "c".repeat(40), false],
]
test("only a push to the deployment's branch is built", () => {
  assert.deepEqual(decide({}), { build: change.after })
  for (const [ref, repo_ref, expected] of branches) assert.equal(isBuilt({ ref }, repo_ref), expected, ref)
  assert.ok(!isBuilt({}, "main", null, false))
})

test("a deleted branch, a new one without a commit of its own, and a message that skips it, are not built", () => {
  assert.deepEqual(decide({ after: null }), { ignored: "the branch was deleted" })
  assert.ok(!isBuilt({ isCreated: true, commits: 0 }))
  for (const commits of [2, undefined]) assert.ok(isBuilt({ isCreated: true, commits }))
  for (const message of ["fix [skip ci]", "[ci skip]", "x\n\n[Skip Deploy]"]) assert.ok(!isBuilt({ message }), message)
  assert.ok(isBuilt({ message: "skip ci" }))
})

test("a push that touches no watch path is not built, unless its files are unknown", () => {
  assert.ok(isBuilt({}, "main", ["agents/shop"]))
  assert.ok(isBuilt({}, "main", []))
  assert.ok(isBuilt({ changedPaths: undefined }, "main", ["docs"]))
  assert.deepEqual(decide({}, "main", ["docs", "agents/sho"]), {
    ignored: "none of its 2 changed files is in watch_paths",
  })
})

test("a watch path is a file, a folder or a pattern; an invalid one is reported, and none makes matching slow", () => {
  const rows: [pattern: string, path: string, isIn: boolean][] = [
    ["agents", "agents/a/b.ts", true],
    ["agents/", "agents/a/b.ts", true],
    ["./agents", "agents/b.ts", true],
    ["agents", "agents2/b.ts", false],
    ["package.json", "package.json", true],
    ["package.json", "sub/package.json", false],
    ["**/package.json", "package.json", true],
    ["**/package.json", "a/b/package.json", true],
    ["*.ts", "a.ts", true],
    ["*.ts", "src/a.ts", false],
    ["src/**/*.ts", "src/a.ts", true],
    ["src/**/*.ts", "src/a/b/c.ts", true],
    ["src/*/c.ts", "src/a/b/c.ts", false],
    ["src/?.ts", "src/a.ts", true],
    ["src/?.ts", "src/ab.ts", false],
    ["a.c", "abc", false],
  ]
  for (const [pattern, path, isIn] of rows) assert.equal(isWatched([pattern], path), isIn, `${pattern} ${path}`)

  const slow = `${"*a".repeat(100)}b`
  assert.equal(isWatched([slow, `${"**/a*/".repeat(30)}z`], `${"a/".repeat(2000)}${"a".repeat(4000)}`), false)

  for (const odd of ["", "/src", "../x", "a/../b", "!docs", "x".repeat(256)]) assert.ok(watchPathProblem(odd), odd)
  for (const fine of ["src", "src/**", "*.ts", "a..b"]) assert.equal(watchPathProblem(fine), undefined, fine)
})

test("all addresses of one repository have one key, and other repositories have others; its path keeps its case and its groups", () => {
  const same = [
    "https://github.com/acme/shop",
    "https://GitHub.com/acme/shop.git",
    "https://github.com/Acme/Shop/",
    "https://github.com:443/acme/shop",
    "git@github.com:acme/shop.git",
    "ssh://git@github.com/acme/shop",
    "ssh://git@github.com:2222/acme/shop.git",
    "git://github.com/acme/shop",
  ]
  for (const address of same) assert.equal(repositoryKey(address), "github.com/acme/shop", address)
  for (const other of [
    "https://github.com/acme/shop2",
    "https://github.com.evil.example/acme/shop",
    "https://github.com:8443/acme/shop",
    "https://evil.example/github.com/acme/shop",
    "file:///acme/shop",
  ]) {
    assert.notEqual(repositoryKey(other), "github.com/acme/shop", other)
  }
  assert.notEqual(repositoryKey("file:///a/Shop.git"), repositoryKey("file:///a/shop.git"))
  for (const odd of ["", "shop", "https://", "https://github.com", "https://github.com/"]) {
    assert.equal(repositoryKey(odd), undefined, odd)
  }

  assert.equal(repositoryPath("https://gitlab.com/Group/sub/Shop.git"), "Group/sub/Shop")
  assert.equal(repositoryPath("git@gitlab.com:Group/sub/Shop.git"), "Group/sub/Shop")
})
