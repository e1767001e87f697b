import assert from "node:assert/strict"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { ClusterFailed } from "./cluster.js"
import { type ExecConfig, type ExecPlace, execCredentials } from "./exec-credentials.js"

const version = "client.authentication.k8s.io/v1"
const credential = (status: object) => JSON.stringify({ apiVersion: version, kind: "ExecCredential", status })

type Limits = Pick<ExecPlace, "timeoutMs" | "pauseMs">

/** A program beside a kubeconfig, which counts its runs. */
function program(script: string, change: Partial<ExecConfig> = {}, limits: Limits = {}) {
  const folder = temporaryFolder()
  const [file, runs] = [join(folder, "config"), join(folder, "runs")]
  writeFileSync(join(folder, "sign-in"), `#!/bin/sh\necho run >> runs\n${script}\n`, { mode: 0o755 })
  const environment = {
    PATH: process.env.PATH,
    PROFILE: "ours",
    SUPERSTEP_MASTER_KEY: "secret",
    DATABASE_URI: "secret",
  }
  const cluster = { server: "https://c.example" }
  const exec = { apiVersion: version, command: "./sign-in", ...change } as const
  const { token, refused } = execCredentials(exec, { file, environment, cluster, ...limits })
  return {
    tokenOf: async () => (await token?.())?.reveal(),
    refuse: async () => {
      const shown = await token?.()
      if (shown) refused?.(shown)
    },
    runs: () => (existsSync(runs) ? readFileSync(runs, "utf8").trim().split("\n").length : 0),
  }
}

const counted = (status: string) =>
  `echo '{"apiVersion":"${version}","kind":"ExecCredential","status":{"token":"t'$(wc -l < runs)'"${status}}}'`

test("a program runs once for many requests, and again when its token has expired or was refused (EC1, EC2)", async () => {
  const lasting = program(counted(',"expirationTimestamp":"2999-01-01T00:00:00Z"'))
  const expired = program(counted(',"expirationTimestamp":"2001-01-01T00:00:00+01:00"'))
  const endless = program(counted(""))

  assert.deepEqual(await Promise.all([1, 2, 3].map(lasting.tokenOf)), ["t1", "t1", "t1"])
  assert.equal(await lasting.tokenOf(), "t1")
  assert.deepEqual([await expired.tokenOf(), await expired.tokenOf()], ["t1", "t2"])
  assert.equal(await endless.tokenOf(), "t1")
  await endless.refuse()
  assert.equal(await endless.tokenOf(), "t2")
  assert.deepEqual([lasting.runs(), expired.runs(), endless.runs()], [1, 2, 2])
})

test("a program gets its arguments as they are, its variables and the cluster, and no setting of ours (EC1, EC3)", async () => {
  const shown = `printf '{"apiVersion":"${version}","kind":"ExecCredential","status":{"token":"%s|%s|%s|%s|%s"}}' "$1" "$PROFILE" "$REGION" "$SUPERSTEP_MASTER_KEY$DATABASE_URI" "$(echo "$KUBERNETES_EXEC_INFO" | tr -d '"')"`
  const { tokenOf } = program(shown, {
    args: ["$(id); a b"],
    env: [{ name: "REGION", value: "eu" }],
    provideClusterInfo: true,
  })

  assert.equal(
    await tokenOf(),
    `$(id); a b|ours|eu||{apiVersion:${version},kind:ExecCredential,spec:{interactive:false,cluster:{server:https://c.example}}}`,
  )
})

test("a program that fails, hangs, is missing or prints something else fails the request, which shows nothing that it printed (EC3)", async () => {
  const failures: readonly (readonly [ReturnType<typeof program>, RegExp])[] = [
    [
      program(`echo '${credential({ token: "t0ken" })}'; exit 3`),
      /\(exit code 3\): run it as the user of the control plane/,
    ],
    [program("echo t0ken >&2; sleep 60", {}, { timeoutMs: 200 }), /\(timeout\)/],
    [program("", { command: "no-such-program" }), /ENOENT/],
    [program("echo t0ken"), /\(it printed no ExecCredential\)/],
    [program(`echo '${credential({ clientCertificateData: "t0ken" })}'`), /\(it printed no ExecCredential\)/],
  ]

  for (const [{ tokenOf }, words] of failures)
    await assert.rejects(tokenOf(), (error: Error) => {
      assert.ok(error instanceof ClusterFailed && error.status === undefined)
      assert.match(error.message, words)
      assert.ok(!error.message.includes("t0ken"))
      return true
    })
})

test("a program that failed runs again only after a pause, and until then its failure is the answer (EC2)", async () => {
  const hour = program("exit 3", {}, { pauseMs: 3_600_000 })
  const none = program("exit 3", {}, { pauseMs: 0 })

  for (const { tokenOf } of [hour, hour, none, none])
    await assert.rejects(
      tokenOf(),
      (error: Error) => error instanceof ClusterFailed && /exit code 3/.test(error.message),
    )
  assert.deepEqual([hour.runs(), none.runs()], [1, 2])
})
