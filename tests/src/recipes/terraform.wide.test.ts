/** The recipe for Terraform, run by OpenTofu: create, nothing to do, change, a failure, and destroy. */

import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { unlessLong } from "@superstep/toolkit/testing/wide-tests"
import { mainScript } from "superstep/testing/run-cli"
import { clientOf, type Deployment } from "../testing/deployments.js"
import { startLocalPlatform } from "../testing/platform.js"
import { copyOfRecipe, recipe } from "../testing/recipes.js"
import { createRepository, versionFile } from "../testing/repository.js"

const tofu = process.env.SUPERSTEP_TEST_TOFU ?? ""
const skip =
  unlessLong("builds OpenTofu") || (tofu === "" && "there is no SUPERSTEP_TEST_TOFU: .ci/program tofu builds OpenTofu")

// Of `plan -detailed-exitcode`.
const [unchanged, changed] = [0, 2]

test("a deployment is created, changed by each commit, kept when a commit fails, and destroyed", {
  skip,
}, async (t) => {
  await using platform = await startLocalPlatform()
  const cwd = await copyOfRecipe(recipe("terraform/main.tf"))
  const repository = await createRepository()
  const bin = join(cwd, "bin")
  mkdirSync(bin)
  writeFileSync(join(bin, "superstep"), `#!/bin/sh\nexec '${process.execPath}' '${mainScript}' "$@"\n`)
  chmodSync(join(bin, "superstep"), 0o755)
  writeFileSync(join(cwd, "agent.env"), "WORD=one\n")
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: cwd,
    SUPERSTEP_URL: platform.credentials.url,
    SUPERSTEP_API_KEY: platform.credentials.api_key,
  }
  const run = (...args: string[]) =>
    new Promise<{ code: number; printed: string }>((resolve, reject) => {
      execFile(tofu, [...args, "-no-color"], { cwd, env, maxBuffer: 2 ** 24 }, (error, stdout, stderr) => {
        const code = error ? error.code : 0
        if (typeof code !== "number") return reject(error)
        resolve({ code, printed: stdout + stderr })
      })
    })
  const variables = (ref: string) =>
    Object.entries({ name: "my-agent", repo_url: repository.url, ref, env_file: "agent.env" }).map(
      ([name, value]) => `-var=${name}=${value}`,
    )
  const plan = async (ref: string) => (await run("plan", "-detailed-exitcode", ...variables(ref))).code
  const apply = (ref: string) => run("apply", "-auto-approve", ...variables(ref))
  const deployments = async () =>
    (await platform.api<{ resources: Deployment[] }>("GET", "/v2/deployments")).body.resources
  const said = async () => {
    const [deployment] = await deployments()
    assert.ok(deployment)
    const input = { messages: [] }
    const answer = await clientOf(platform, deployment).runs.wait(null, "chat", { input })
    return (answer as { messages: { content: string }[] }).messages.at(-1)?.content
  }
  const init = await run("init")
  assert.equal(init.code, 0, init.printed)
  const first = await repository.push(versionFile("v1"))

  await t.test("apply creates it, and then there is nothing to do", async () => {
    assert.equal(await plan(first), changed)
    const { code, printed } = await apply(first)

    assert.equal(code, 0, printed)
    assert.equal(await said(), "hello from v1")
    assert.equal(await plan(first), unchanged)
  })

  await t.test("another commit and other secrets are new revisions of the same deployment", async () => {
    const [before] = await deployments()
    const second = await repository.push(versionFile("v2"))
    assert.equal(await plan(second), changed)
    const { code, printed } = await apply(second)

    assert.equal(code, 0, printed)
    assert.equal(await said(), "hello from v2")
    assert.deepEqual(fieldsOf(await deployments(), "id"), [before?.id])
    writeFileSync(join(cwd, "agent.env"), "WORD=two\n")
    assert.equal(await plan(second), changed)
  })

  await t.test("a commit that fails is an error with the reason, and is tried again", async () => {
    const third = await repository.push({ "src/version.ts": "export const version = undefinedName\n" })
    const { code, printed } = await apply(third)

    assert.equal(code, 1)
    assert.match(printed, /undefinedName/)
    assert.equal(await said(), "hello from v2")
    assert.equal(await plan(third), changed)
  })

  await t.test("destroy deletes it", async () => {
    const { code, printed } = await run("destroy", "-auto-approve", ...variables(first))

    assert.equal(code, 0, printed)
    await until(async () => (await deployments()).length === 0, { what: "it is gone" })
  })
})
