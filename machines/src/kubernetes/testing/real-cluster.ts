/**
 * A real control plane of Kubernetes: etcd, API server, controller manager and scheduler, which `.ci/kubernetes` builds. Its only node is
 * played by `test-node.ts`.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { generateKeyPairSync } from "node:crypto"
import { once } from "node:events"
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Secret } from "@superstep/toolkit/config/settings"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { type Cluster, clusterAt } from "../cluster/cluster.js"

const program = process.env.SUPERSTEP_TEST_KUBERNETES

export const noKubernetes =
  program === undefined && "needs SUPERSTEP_TEST_KUBERNETES, a program that .ci/kubernetes builds"

export type RealCluster = Awaited<ReturnType<typeof realCluster>>

export async function realCluster() {
  const folder = temporaryFolder()
  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()]
  const origin = `https://127.0.0.1:${port}`
  const certificates = join(folder, "certificates")
  mkdirSync(certificates)
  const keys = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const accountKey = join(folder, "account.key")
  writeFileSync(accountKey, keys.privateKey.export({ type: "pkcs8", format: "pem" }))
  const tokens = join(folder, "tokens.csv")
  writeFileSync(tokens, 'admin-token,admin,admin,"system:masters"\nmachine-token,machine,machine\n')
  const kubeconfig = join(folder, "kubeconfig")
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(origin)))

  const run = (name: string, command: string, args: readonly string[]): ChildProcess => {
    // A test file that is killed leaves no cluster behind.
    const child = spawn("setpriv", ["--pdeathsig", "KILL", command, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      cwd: folder,
    })
    const output = createWriteStream(join(folder, `${name}.log`), { flags: "a" })
    for (const stream of [child.stdout, child.stderr]) stream?.pipe(output, { end: false })
    return child
  }
  const part = (name: string, args: readonly string[]) => run(name, program ?? "", [name, ...args])
  const etcdOrigin = `http://127.0.0.1:${etcdPort}`
  const peers = `http://127.0.0.1:${peerPort}`
  const etcd = run("etcd", "etcd", [
    ...["--data-dir", join(folder, "etcd"), "--listen-client-urls", etcdOrigin, "--advertise-client-urls", etcdOrigin],
    ...["--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", `default=${peers}`],
  ])
  const startServer = () =>
    part("kube-apiserver", [
      `--etcd-servers=${etcdOrigin}`,
      `--secure-port=${port}`,
      "--bind-address=127.0.0.1",
      `--cert-dir=${certificates}`,
      "--service-cluster-ip-range=10.96.0.0/16",
      `--service-account-key-file=${accountKey}`,
      `--service-account-signing-key-file=${accountKey}`,
      "--service-account-issuer=https://superstep.test",
      `--token-auth-file=${tokens}`,
      "--authorization-mode=RBAC",
      "--endpoint-reconciler-type=none",
      "--kubelet-preferred-address-types=InternalIP",
    ])
  let server = startServer()
  const accessWith = async (token: string): Promise<Cluster> =>
    clusterAt({
      origin,
      authority: readFileSync(join(certificates, "apiserver.crt"), "utf8"),
      token: async () => new Secret(token),
    })
  const isReady = async () => {
    if (server.exitCode !== null) throw new Error(`the API server has exited: see ${folder}/kube-apiserver.log`)
    try {
      return (await (await accessWith("admin-token")).json("/readyz")).status === 200
    } catch {
      return false
    }
  }
  await until(isReady, { what: `the API server is ready (${folder})`, timeoutMs: 180_000 })
  const controllers = part("kube-controller-manager", [
    `--kubeconfig=${kubeconfig}`,
    `--service-account-private-key-file=${accountKey}`,
    `--root-ca-file=${join(certificates, "apiserver.crt")}`,
    `--controllers=${controllerNames.join()}`,
    "--leader-elect=false",
    "--secure-port=0",
  ])
  const scheduler = part("kube-scheduler", [`--kubeconfig=${kubeconfig}`, "--leader-elect=false", "--secure-port=0"])
  const end = async (child: ChildProcess) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill("SIGKILL")
    await once(child, "exit")
  }
  const certificate = readFileSync(join(certificates, "apiserver.crt"), "utf8")
  const machineFile = join(folder, "machine.kubeconfig")
  writeFileSync(machineFile, JSON.stringify(kubeconfigOf(origin, { token: "machine-token", certificate })))
  return {
    admin: await accessWith("admin-token"),
    /** The same rights, for a program. */
    adminKubeconfig: kubeconfig,
    /** Has the rights of the machine, and no other. */
    machine: await accessWith("machine-token"),
    /** The same rights, for a program. */
    kubeconfig: machineFile,
    certificate,
    key: readFileSync(join(certificates, "apiserver.key"), "utf8"),
    /** It takes connections, and answers nothing until it is killed. */
    pauseServer: () => void server.kill("SIGSTOP"),
    killServer: () => end(server),
    startServer: async () => {
      server = startServer()
      await until(isReady, { what: "the API server is back", timeoutMs: 180_000 })
    },
    stop: async () => {
      for (const child of [scheduler, controllers, server, etcd]) await end(child)
    },
  }
}

const controllerNames = [
  ...["serviceaccount-controller", "namespace-controller", "garbage-collector-controller"],
  ...["job-controller", "ttl-after-finished-controller", "root-ca-certificate-publisher-controller"],
  ...["deployment-controller", "replicaset-controller", "statefulset-controller"],
]

const kubeconfigOf = (server: string, user?: { readonly token: string; readonly certificate: string }) => ({
  apiVersion: "v1",
  kind: "Config",
  clusters: [
    {
      name: "test",
      cluster: user
        ? { server, "certificate-authority-data": Buffer.from(user.certificate).toString("base64") }
        : { server, "insecure-skip-tls-verify": true },
    },
  ],
  users: [{ name: "user", user: { token: user?.token ?? "admin-token" } }],
  contexts: [{ name: "test", context: { cluster: "test", user: "user" } }],
  "current-context": "test",
})
