/** The workflow for GitHub: a push, a pull request, a failure, and a closed pull request, on a real platform. npm installs the command. */
import assert from "node:assert/strict"
import { cp, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Client } from "@langchain/langgraph-sdk"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { packedCommand } from "superstep/testing/copy-for-packing"
import { runCli } from "superstep/testing/run-cli"
import type { Deployment } from "../testing/deployments.js"
import { startLocalPlatform } from "../testing/platform.js"
import { recipe } from "../testing/recipes.js"
import { type EndedJob, type JobContext, readWorkflow, runJob } from "../testing/workflow.js"

const example = fileURLToPath(new URL("../../../examples/chat", import.meta.url))
const repository = "me/my-agent"
const push = { event_name: "push", repository, event: {} }
const pullRequest = (action: string, from = repository) => ({
  event_name: "pull_request",
  repository,
  event: { action, number: 7, pull_request: { head: { repo: { full_name: from } } } },
})

test("GitHub's workflow deploys a push, previews a pull request until it is closed, and reports a failure", async (t) => {
  await using platform = await startLocalPlatform()
  const { url, api_key, tenant_id } = platform.credentials
  const created = await runCli(["keys", "create", "--workspace", tenant_id, "--scope", "deploy", "secrets", "--json"], {
    cwd: platform.home,
    env: { SUPERSTEP_HOME: platform.home },
  })
  assert.equal(created.code, 0, created.stderr)
  const { key } = JSON.parse(created.stdout) as { key: string }
  const workflow = await readWorkflow(recipe("github-actions/superstep.yml"))
  const [source, prefix, packed] = [temporaryFolder(), temporaryFolder(), await packedCommand()]
  await cp(example, source, { recursive: true, filter: (path) => !path.includes("node_modules") })
  const context = (github: object): JobContext => ({
    github,
    secrets: { SUPERSTEP_URL: url, SUPERSTEP_API_KEY: key, AGENT_ENV: "CHAT_PAUSE_MS=0\nWORD=from GitHub" },
    vars: { SUPERSTEP_DEPLOYMENT: "my-agent", SUPERSTEP_PACKAGE: packed },
    actions: {
      "actions/checkout@v5": (workspace) => cp(source, workspace, { recursive: true }),
      // The runner has Node already.
      "actions/setup-node@v5": async () => undefined,
    },
    env: { ...runnerEnvironment(), PATH: `${join(prefix, "bin")}:${process.env.PATH}`, npm_config_prefix: prefix },
  })
  const job = async (name: string, github: object): Promise<EndedJob> => {
    const ended = await runJob(workflow, name, context(github))
    assert.ok(ended, `the job ${name} was left out`)
    return ended
  }
  const names = async () => {
    const { body } = await platform.api<{ resources: Deployment[] }>("GET", "/v2/deployments")
    return body.resources.map(({ name }) => name).toSorted()
  }
  const address = (name: string) => `${platform.agentsUrl}/d/${name}`

  await t.test("a push to main is deployed with the agent's secrets, and the summary has the address", async () => {
    const { succeeded, environment, summary, log } = await job("deploy", push)

    assert.ok(succeeded, log)
    assert.deepEqual(environment, { name: "production", url: address("my-agent") })
    assert.equal(summary, `**my-agent** answers at ${address("my-agent")}\n`)
    const client = new Client({ apiUrl: environment.url, apiKey: api_key })
    const input = { messages: [{ role: "user", content: "Hello" }] }
    const { messages } = (await client.runs.wait(null, "chat", { input })) as { messages: { content: string }[] }
    assert.match(messages.at(-1)?.content ?? "", /^Hello!/)
    assert.equal(await runJob(workflow, "remove", context(push)), undefined)
  })

  await t.test("a pull request gets a deployment of its own", async () => {
    const { succeeded, environment, log } = await job("deploy", pullRequest("opened"))

    assert.ok(succeeded, log)
    assert.deepEqual(environment, { name: "preview", url: address("my-agent-pr-7") })
    assert.deepEqual(await names(), ["my-agent", "my-agent-pr-7"])
  })

  await t.test("a commit that does not build fails the job, whose summary has the reason", async () => {
    await writeFile(join(source, "src/graph.ts"), "export const graph = undefinedName\n")

    const { succeeded, environment, summary } = await job("deploy", pullRequest("synchronize"))

    assert.equal(succeeded, false)
    assert.equal(environment.url, "")
    assert.match(summary, /^\*\*my-agent-pr-7\*\* was not deployed:\n```[\s\S]*undefinedName[\s\S]*```\n$/)
  })

  await t.test("a pull request from a fork, which gets no secrets, runs nothing", async () => {
    for (const name of ["deploy", "remove"])
      for (const action of ["opened", "closed"])
        assert.equal(await runJob(workflow, name, context(pullRequest(action, "stranger/my-agent"))), undefined)
  })

  await t.test(
    "a closed pull request takes its deployment along, and one without a deployment does no harm",
    async () => {
      const closed = pullRequest("closed")
      const first = await job("remove", closed)

      assert.ok(first.succeeded, first.log)
      await until(async () => (await names()).join() === "my-agent", { what: "the preview is gone" })
      const second = await job("remove", closed)
      assert.ok(second.succeeded, second.log)
      assert.match(second.log, /there is no deployment my-agent-pr-7/)
      assert.equal(await runJob(workflow, "deploy", context(closed)), undefined)
    },
  )
})

/** The machine's own settings, such as those for its network, without what the tests and `npm test` add. */
const runnerEnvironment = () =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || /^(npm_|INIT_CWD$|SUPERSTEP_|DATABASE_URI$|NODE_TEST_)/.test(name) ? [] : [[name, value]],
    ),
  )
