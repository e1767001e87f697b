import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { sshKeyPair } from "../sources/testing/ssh-key-pair.js"
import { startApi, type TestApi } from "../testing/api.js"
import { credentialsOf } from "./operations.js"

const path = "/v2/integrations/git"
const github = { name: "acme", host: "GitHub.com", token: "ghp_in_clear" }

async function created(api: TestApi, body: object = github) {
  const reply = await api.call("POST", path, { body })
  assert.equal(reply.status, 201, reply.text)
  return reply.body
}

test("an integration is created, read, listed and deleted", async () => {
  await using api = await startApi()

  const integration = await created(api)
  const read = await api.call("GET", `${path}/${integration.id}`)
  const list = await api.call("GET", path)
  const github_list = await api.call("GET", "/v1/integrations/github/install")
  const deleted = await api.call("DELETE", `${path}/${integration.id}`)
  const gone = await api.call("GET", `${path}/${integration.id}`)

  assert.equal(integration.host, "github.com")
  assert.equal(integration.username, null)
  assert.deepEqual(read.body, integration)
  assert.deepEqual(list.body, { resources: [integration], offset: 1 })
  assert.deepEqual(github_list.body, [{ id: integration.id, installation_id: 0, name: "acme" }])
  assert.equal(deleted.status, 204)
  assert.equal(gone.status, 404)
})

test("a token is never shown or stored in clear text, and can be decrypted for fetches (I1); its host may be given as an address", async () => {
  await using api = await startApi()
  const integration = await created(api, { ...github, username: "bot" })

  const row = await api.db.row<{ token_sealed: string }>(sql`select token_sealed from integrations`)
  const credentials = await credentialsOf(api.db, api.key, {
    workspaceId: api.workspaceId,
    integrationId: integration.id,
  })

  assert.ok(!JSON.stringify([integration, row]).includes("ghp_in_clear"))
  assert.ok(credentials.kind === "token")
  assert.equal(credentials.token.reveal(), "ghp_in_clear")
  assert.deepEqual([credentials.host, credentials.username], ["github.com", "bot"])

  const byUrl = await created(api, { name: "url", url: "https://git.acme.test:3000/acme/shop", token: "t" })
  const both = await created(api, { name: "both", url: "https://github.com/acme", host: "github.com", token: "t" })

  assert.equal(byUrl.host, "git.acme.test:3000")
  assert.equal(both.host, "github.com")
})

test("an integration that a deployment uses cannot be deleted (I2), and its name is unique in its workspace", async () => {
  await using api = await startApi()
  const { id } = await created(api)
  const deployment = await api.deploy("shop-bot", { integration_id: id })

  const deleted = await api.call("DELETE", `${path}/${id}`)

  assert.equal(deployment.source_config.integration_id, id)
  assert.deepEqual([deleted.status, deleted.body.code], [409, "in_use"])

  const taken = await api.call("POST", path, { body: github })
  const other = await api.callAsOther("POST", path, { body: github })

  assert.equal(taken.status, 409)
  assert.equal(taken.body.conflicting_id, id)
  assert.equal(other.status, 201)
})

test("an ssh key is stored like a token, and its public half is shown (I1)", async () => {
  await using api = await startApi()
  for (const kind of ["ed25519", "rsa", "rsa-pem"] as const) {
    const { privateKey, publicKey } = sshKeyPair(kind)

    const integration = await created(api, { name: kind, host: "git.acme.test", ssh_private_key: privateKey })
    const row = await api.db.row(sql`select * from integrations where name = ${kind}`)
    const ids = { workspaceId: api.workspaceId, integrationId: integration.id }
    const credentials = await credentialsOf(api.db, api.key, ids)

    assert.equal(integration.auth, "ssh_key")
    assert.equal(integration.ssh_public_key, publicKey)
    assert.ok(!JSON.stringify([integration, row]).includes(privateKey.split("\n")[1] ?? ""))
    assert.ok(credentials.kind === "ssh_key")
    assert.equal(credentials.privateKey.reveal(), privateKey)
  }
})

test("malformed integrations are 422", async () => {
  await using api = await startApi()
  const deployKey = { name: "key", host: "github.com", ssh_private_key: sshKeyPair("ed25519").privateKey }
  const malformed = [
    { ...github, token: undefined },
    { ...github, token: "" },
    { ...github, token: "a\nb" },
    { ...github, token: "gh…" },
    { ...github, host: undefined },
    { ...github, host: "git hub.com" },
    { ...github, host: "-oProxyCommand=x" },
    { ...github, host: "user@github.com" },
    { ...github, host: "github.com", url: "https://gitlab.com" },
    { ...github, username: "a:b" },
    { ...github, username: "a\nb" },
    { ...github, name: "" },
    { ...github, name: "a\u0000" },
    { ...github, ssh_private_key: sshKeyPair("ed25519").privateKey },
    { ...github, known_hosts: "github.com ssh-ed25519 AAAA" },
    { ...deployKey, ssh_private_key: "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----" },
    { ...deployKey, ssh_private_key: sshKeyPair("ed25519", "a passphrase").privateKey },
    { ...deployKey, ssh_private_key: sshKeyPair("ecdsa").privateKey },
    { ...deployKey, ssh_private_key: "ssh-ed25519 AAAA" },
    { ...deployKey, known_hosts: "@cert-authority * ssh-ed25519 AAAA" },
    { ...deployKey, known_hosts: "ProxyCommand sh -c true" },
    { ...deployKey, username: "git" },
    [],
  ]
  for (const body of malformed) {
    const reply = await api.call("POST", path, { body })

    assert.equal(reply.status, 422, `${JSON.stringify(body)}: ${reply.text}`)
  }
  assert.deepEqual((await api.call("GET", path)).body.resources, [])
})
