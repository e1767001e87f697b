/** Invalid requests, each with the location of its problem; none may leave a deployment behind. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { exampleDeployment, startApi } from "../testing/api.js"

const example = exampleDeployment()
const sourceConfig = (change: object) => ({ ...example, source_config: { ...example.source_config, ...change } })
const revisionConfig = (change: object) => ({
  ...example,
  source_revision_config: { ...example.source_revision_config, ...change },
})
const url = (repo_url: unknown) => sourceConfig({ repo_url })
const ref = (repo_ref: unknown) => revisionConfig({ repo_ref })
const pushes = { source_config: exampleDeployment("shop-bot", { build_on_push: true }).source_config }
const path = (langgraph_config_path: unknown) => revisionConfig({ langgraph_config_path })
const given = (name: unknown, value: unknown) => [{ name, value }]
const secret = (name: unknown, value: unknown = "x") => ({ ...example, secrets: given(name, value) })
const without = (...fields: string[]) =>
  Object.fromEntries(Object.entries(example).filter(([field]) => !fields.includes(field)))
const unknownId = "00000000-0000-4000-8000-000000000000"
const config = (field: string) => ["body", "source_config", field]
const at = {
  url: config("repo_url"),
  ref: ["body", "source_revision_config", "repo_ref"],
  path: ["body", "source_revision_config", "langgraph_config_path"],
  image: ["body", "source_revision_config", "image_uri"],
  spec: config("resource_spec"),
  secretName: ["body", "secrets", 0, "name"],
  secretValue: ["body", "secrets", 0, "value"],
}

const cases: [what: string, body: unknown, loc: (string | number)[]][] = [
  ["no name", without("name"), ["body", "name"]],
  ["an underscore in the name", { ...example, name: "shop_bot" }, ["body", "name"]],
  ["upper case in the name", { ...example, name: "Shop" }, ["body", "name"]],
  ["a name of 64 characters", { ...example, name: "a".repeat(64) }, ["body", "name"]],
  ["a name with a line end", { ...example, name: "shop\n" }, ["body", "name"]],
  ["no source", without("source"), ["body", "source"]],
  ["no source_config", without("source_config"), at.url],
  ["no source_revision_config", without("source_revision_config"), at.ref],
  ["no repo_url", url(null), at.url],
  ["a git helper", url("ext::sh -c touch% /tmp/x"), at.url],
  ["an option for a repo_url", url("--upload-pack=touch /tmp/x"), at.url],
  ["an option for an ssh host", url("ssh://-oProxyCommand=x/repo"), at.url],
  ["an option for an scp path", url("git@host:-oProxyCommand=x"), at.url],
  ["an option for an scp host", url("-oProxyCommand=x@host:repo"), at.url],
  ["a file URL that is not allowed", url("file:///etc"), at.url],
  ["an http URL that is not allowed", url("http://github.com/acme/shop"), at.url],
  ["a URL that git reads as ssh", url("https:github.com/acme/shop"), at.url],
  ["a URL with one backslash", url("https://github.com\\@evil.test/acme"), at.url],
  ["a URL with a slash too many", url("https:///github.com/acme/shop"), at.url],
  ["a token in the URL", url("https://ghp_token@github.com/acme/shop"), at.url],
  ["a password in the URL", url("https://user:pass@github.com/acme/shop"), at.url],
  ["a host without a path", url("https://github.com/"), at.url],
  ["a line end in the URL", url("https://github.com/acme/shop\n--x"), at.url],
  ["a URL of many characters", url(`https://github.com/${"a".repeat(2000)}`), at.url],
  ["no ref", ref(null), at.ref],
  ["a ref that is an option", ref("--upload-pack=x"), at.ref],
  ["a ref with two dots", ref("a..b"), at.ref],
  ["no config path", path(null), at.path],
  ["a path that climbs", path("../langgraph.json"), at.path],
  ["a path that climbs on its way", path("apps/../../langgraph.json"), at.path],
  ["an absolute path", path("/etc/passwd"), at.path],
  ["a path on a drive", path("C:/langgraph.json"), at.path],
  ["a path with backslashes", path("..\\langgraph.json"), at.path],
  ["a path that is an option", path("-x"), at.path],
  ["a path to a folder", path("apps/"), at.path],
  ["an image for a repository", revisionConfig({ image_uri: "registry.test/a:1" }), at.image],
  ["an image that is an option", revisionConfig({ image_uri: "--privileged" }), at.image],
  ["an address that runs code", sourceConfig({ custom_url: "javascript:x" }), config("custom_url")],
  ["an unknown integration", sourceConfig({ integration_id: unknownId }), config("integration_id")],
  ["a listener", sourceConfig({ listener_id: unknownId }), config("listener_id")],
  ["NUL deep in the resources", sourceConfig({ resource_spec: { labels: { a: "\u0000" } } }), at.spec],
  ["half a surrogate pair", sourceConfig({ resource_spec: { labels: { a: "\ud800" } } }), at.spec],
  ["a command that chains", sourceConfig({ install_command: "npm ci; id" }), config("install_command")],
  ["a command that substitutes", sourceConfig({ build_command: "echo $(id)" }), config("build_command")],
  ["a push on a tag", { ...ref("refs/tags/v1"), ...pushes }, config("build_on_push")],
  ["a secret with an odd name", secret("A=B"), at.secretName],
  ["a secret with NUL", secret("A", "a\u0000b"), at.secretValue],
  ["a secret that is only a mask", secret("A", "********"), at.secretValue],
  [
    "a name given twice",
    { ...example, secrets: [...given("A", "1"), ...given("A", "2")] },
    ["body", "secrets", 1, "name"],
  ],
  ["references to Kubernetes", { ...example, secret_references: [{ name: "A" }] }, ["body", "secret_references"]],
]

test("a malformed request is 422 with the location of the problem, and stores nothing (D8)", async () => {
  await using api = await startApi()
  for (const [what, body, loc] of cases) {
    const reply = await api.call("POST", "/v2/deployments", { body })

    assert.equal(reply.status, 422, `${what}: ${reply.status} ${reply.text}`)
    assert.deepEqual(reply.body.detail[0].loc, loc, what)
    assert.equal(typeof reply.body.detail[0].msg, "string")
    assert.equal(typeof reply.body.detail[0].type, "string")
    assert.equal(reply.body.request_id, reply.headers.get("x-request-id"))
  }
  const list = await api.call("GET", "/v2/deployments")
  assert.deepEqual(list.body, { resources: [], offset: 0 })
})

test("all problems of a body are reported together, and extremely nested resources are 422", async () => {
  await using api = await startApi()

  const reply = await api.call("POST", "/v2/deployments", { body: { name: "A", source: "svn", secrets: [{}] } })

  const places = reply.body.detail.map(({ loc }: { loc: string[] }) => loc.join("."))
  assert.deepEqual(places.sort(), ["body.name", "body.secrets.0.name", "body.secrets.0.value", "body.source"])

  const depth = 100_000
  const spec = `${"[".repeat(depth)}${"]".repeat(depth)}`
  const text = JSON.stringify(sourceConfig({ resource_spec: { deep: "HERE" } })).replace('"HERE"', spec)

  const nested = await api.call("POST", "/v2/deployments", { text })

  assert.equal(nested.status, 422)
})

test("unusual but valid values are accepted", async () => {
  await using api = await startApi()
  const honest: [string, object][] = [
    ["scp form", url("git@github.com:acme/shop.git")],
    ["ssh with a user", url("ssh://git@github.com/acme/shop.git")],
    ["a port", url("https://git.acme.test:3000/acme/shop")],
    ["a branch with slashes", ref("feature/a-b_c.d")],
    ["a tag", ref("refs/tags/v1.0.0")],
    ["a commit", ref("4be1f9c3a7d2e6b8c0a1f2e3d4c5b6a798877665")],
    ["a path with a dot", path("./langgraph.json")],
    ["a path with blanks", path("my apps/langgraph..json")],
    ["no secrets at all", without("secrets")],
    ["an empty secret", secret("EMPTY", "")],
    ["a large secret", secret("LARGE", "ä\n".repeat(20_000))],
    ["a command with &&", sourceConfig({ install_command: "npm ci && npm run build" })],
    ["a key that could be a prototype", sourceConfig({ resource_spec: JSON.parse('{"__proto__": {"a": 1}}') })],
  ]
  for (const [index, [what, body]] of honest.entries()) {
    const reply = await api.call("POST", "/v2/deployments", { body: { ...body, name: `honest-${index}` } })

    assert.equal(reply.status, 201, `${what}: ${reply.text}`)
  }
})

test("other protocols are accepted where the installation allows them", async () => {
  await using api = await startApi({ gitProtocols: ["https", "ssh", "http", "file", "git"] })
  const addresses = [
    ["http://127.0.0.1:3000/acme/shop.git", 201],
    ["file:///srv/git/shop.git", 201],
    ["git://git.acme.test/shop.git", 201],
    ["FILE:///srv/git/shop.git", 422],
    ["file://server/share", 422],
    ["file:srv/git", 422],
    ["file:////srv/git", 422],
    ["file:///", 422],
    ["ftp://git.acme.test/shop.git", 422],
    ["ext::sh", 422],
  ] as const
  for (const [index, [address, status]] of addresses.entries()) {
    const reply = await api.call("POST", "/v2/deployments", { body: { ...url(address), name: `repo-${index}` } })

    assert.equal(reply.status, status, `${address}: ${reply.text}`)
  }
})

test("a PATCH validates fields like a POST", async () => {
  await using api = await startApi()
  const { body: deployment } = await api.call("POST", "/v2/deployments", { body: example })
  const bodies = [
    { source_revision_config: { repo_ref: "-x" } },
    { source_revision_config: { langgraph_config_path: "../x" } },
    { source_revision_config: { image_uri: "registry.test/a:1" } },
    { source_revision_config: { repo_ref: "refs/tags/v1" }, source_config: { build_on_push: true } },
    { display_name: "" },
    { display_name: "\u0000" },
    { secrets: [{ name: "UNKNOWN", value: "********" }] },
    { revision_source: "github" },
    { revision_source: "internal_docker" },
    [],
  ]
  for (const body of bodies) {
    const reply = await api.call("PATCH", `/v2/deployments/${deployment.id}`, { body })

    assert.equal(reply.status, 422, `${JSON.stringify(body)}: ${reply.text}`)
  }
  const { body: read } = await api.call("GET", `/v2/deployments/${deployment.id}`)
  assert.deepEqual(read, deployment)
})
