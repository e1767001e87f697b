import assert from "node:assert/strict"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test as nodeTest } from "node:test"
import type { TLSSocket } from "node:tls"
import { Secret } from "@superstep/toolkit/config/settings"
import { withoutOpenssl } from "@superstep/toolkit/testing/certificate"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { testUnless } from "@superstep/toolkit/testing/test-unless"
import { parse, stringify } from "yaml"
import { httpsServerOfFile } from "../testing/https-server.js"
import { machineRules } from "../testing/rights.js"
import { accessInCluster, NotInCluster } from "./access.js"
import { ClusterFailed, clusterAt } from "./cluster.js"
import { accessByKubeconfig, UnusableKubeconfig } from "./kubeconfig.js"

const test = testUnless(withoutOpenssl())
const server = httpsServerOfFile(
  (request, response) => {
    const { authorization = "" } = request.headers
    const subject = (request.socket as TLSSocket).getPeerCertificate().subject as { CN?: string } | undefined
    const isRefused = authorization === "Bearer old"
    response.writeHead(isRefused ? 401 : 200, { "content-type": "application/json" })
    response.end(
      JSON.stringify(isRefused ? { kind: "Status", message: "Unauthorized" } : { authorization, client: subject?.CN }),
    )
  },
  { requestCert: true, rejectUnauthorized: false },
)

const base64 = (text: string) => Buffer.from(text).toString("base64")

function kubeconfig(user: object, cluster: object = {}, others: readonly object[] = []): string {
  const file = join(temporaryFolder(), "config")
  writeFileSync(join(file, "..", "token"), "of-a-file\n")
  writeFileSync(
    file,
    stringify({
      kind: "Config",
      "current-context": "here",
      contexts: [{ name: "here", context: { cluster: "c", user: "u", namespace: "agents" } }],
      clusters: [
        {
          name: "c",
          cluster: { server: server.origin, "certificate-authority-data": base64(server.authority), ...cluster },
        },
      ],
      users: [...others.map((other, at) => ({ name: `other-${at}`, user: other })), { name: "u", user }],
    }),
  )
  return file
}

interface Seen {
  readonly authorization: string
  readonly client?: string
}

const clusterFailed = (status: number | undefined, words: RegExp) => (error: unknown) =>
  error instanceof ClusterFailed && error.status === status && words.test(error.message)

test("a kubeconfig gives a token, a token that is read anew from a file, or a client certificate", async () => {
  const seenWith = async (user: object) =>
    (await clusterAt(await accessByKubeconfig(kubeconfig(user), {})).json<Seen>("/version")).body

  assert.equal((await seenWith({ token: "t" })).authorization, "Bearer t")
  assert.equal((await seenWith({ tokenFile: "token" })).authorization, "Bearer of-a-file")
  const printed = `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"of-a-program"}}`
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "/bin/echo", args: [printed] }
  assert.equal((await seenWith({ exec })).authorization, "Bearer of-a-program")
  const pair = { "client-certificate-data": base64(server.authority), "client-key-data": base64(server.key) }
  assert.deepEqual(await seenWith(pair), { authorization: "", client: "localhost" })
})

test("what other users of a kubeconfig sign in with, and an exec beside a token, are not judged", async () => {
  const alpha = { apiVersion: "client.authentication.k8s.io/v1alpha1", command: "aws", interactiveMode: "Always" }
  const others = [{ exec: alpha }, { exec: null }, { exec: "aws" }]

  for (const user of [{ token: "t" }, { token: "t", exec: null }, { token: "t", exec: alpha }]) {
    const access = await accessByKubeconfig(kubeconfig(user, {}, others), {})
    assert.equal((await clusterAt(access).json<Seen>("/version")).body.authorization, "Bearer t")
  }
})

test("a kubeconfig that cannot be used is refused with its reason, and shows no secret", async () => {
  const refusal = (file: string, words: RegExp) =>
    assert.rejects(
      accessByKubeconfig(file, {}),
      (error: Error) => error instanceof UnusableKubeconfig && words.test(error.message),
    )

  await refusal(join(temporaryFolder(), "none"), /there is no such file/)
  await refusal(kubeconfig({ "auth-provider": { name: "gcp" } }), /replaced by exec/)
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "aws", interactiveMode: "Always" }
  await refusal(kubeconfig({ exec }), /the exec of its user .*interactiveMode: expected Never or IfAvailable/)
  await refusal(kubeconfig({}), /neither a token, nor a program that prints one, nor a client certificate/)
  await refusal(kubeconfig({ token: "t" }, { "insecure-skip-tls-verify": true }), /certificate-authority/)
  const broken = join(temporaryFolder(), "config")
  writeFileSync(broken, "clusters: none")
  await refusal(broken, /no kubeconfig/)
})

test("the documented kubeconfig is accepted and reads its token anew; the documented rights are those of the machine", async () => {
  const page = readFileSync(new URL("../../../../docs/kubernetes.md", import.meta.url), "utf8")
  const documents = [...page.matchAll(/<<'EOF'\n(.*?)EOF\n/gs)].map(([, text = ""]) => text)
  const [role, config = ""] = documents
  const place = temporaryFolder()
  writeFileSync(join(place, "kubeconfig"), config.replace("https://api.example.com:6443", server.origin))
  writeFileSync(join(place, "ca.crt"), server.authority)
  writeFileSync(join(place, "token"), "first\n")
  const cluster = clusterAt(await accessByKubeconfig(join(place, "kubeconfig"), {}))
  const seen = async () => (await cluster.json<Seen>("/version")).body.authorization

  assert.equal(await seen(), "Bearer first")
  writeFileSync(join(place, "token"), "renewed\n")
  assert.equal(await seen(), "Bearer renewed")
  assert.deepEqual((parse(role ?? "") as { rules: unknown }).rules, machineRules)
})

test("a pod finds its API server, its namespace and its present token in what the cluster puts there", async () => {
  const account = temporaryFolder()
  const environment = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(server.port) }
  await assert.rejects(accessInCluster(environment, account), NotInCluster)
  writeFileSync(join(account, "ca.crt"), server.authority)
  writeFileSync(join(account, "namespace"), "agents")
  writeFileSync(join(account, "token"), "first\n")
  const { access, namespace } = await accessInCluster(environment, account)
  const cluster = clusterAt(access)
  await cluster.json("/version")

  writeFileSync(join(account, "token"), "second\n")
  const { body } = await cluster.json<Seen>("/version")

  assert.equal(namespace, "agents")
  assert.equal(body.authorization, "Bearer second")
})

nodeTest("who waits for a token can leave, and waits no longer than for an answer", async () => {
  const silent = clusterAt({
    origin: "https://127.0.0.1:1",
    authority: undefined,
    token: () => new Promise<never>(() => undefined),
  })
  const leaving = new AbortController()
  const left = silent.stream("/logs", { signal: leaving.signal })
  leaving.abort(new Error("left"))

  await assert.rejects(left, /^Error: left$/)
  await assert.rejects(silent.json("/version", { signal: leaving.signal }), /^Error: left$/)
  await assert.rejects(silent.json("/version", { answerMs: 1 }), clusterFailed(undefined, /no token .* within 1 ms/))
})

test("a refusal has the words and the status of the server; a server that is away, or is another one, has an error of its own", async () => {
  const { origin, authority } = server
  const cluster = (of: { origin: string; authority: string | undefined }, token: string) =>
    clusterAt({ ...of, token: async () => new Secret(token) })

  await assert.rejects(cluster({ origin, authority }, "old").json("/version"), clusterFailed(401, /Unauthorized/))
  for (const other of [
    { origin, authority: undefined },
    { origin: "https://127.0.0.1:1", authority },
  ])
    await assert.rejects(cluster(other, "t").json("/version"), clusterFailed(undefined, /does not answer/))
})
