/** From a push to a responding agent, and a rollback, compared with the same work by hand. */
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { signedPush } from "@superstep/control/pushes/testing/deliveries"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { callJson, type Target, timeCall } from "../http-client.js"
import type { Options } from "../options.js"
import type { Cleanup } from "../processes.js"
import { type AgentRepository, agentRepository } from "../systems/agent-repository.js"
import { byHand } from "../systems/by-hand.js"
import { type Platform, startPlatform } from "../systems/platform.js"
import type { System } from "../systems/system.js"
import { check, type Metric, type Sample, type Scenario, userSays } from "./scenario.js"

const ms = (key: string, label: string): Metric => ({ key, label, unit: "ms", better: "low" })

export const deployScenarios = ({ isQuick }: Options): Scenario[] => {
  const deployers = new Map<string, Promise<Deployer>>()
  const deployerOf = ({ name }: System, cleanup: Cleanup) => {
    const known = deployers.get(name) ?? (name === "floor" ? handDeployer(cleanup) : platformDeployer(cleanup))
    deployers.set(name, known)
    return known
  }
  return [
    {
      name: "push to deploy",
      metrics: [
        ms("deployedMs", "push to DEPLOYED"),
        ...["queue", "fetch", "build", "deploy", "switch", "verify"].map((stage) => ms(stage, `  of that, ${stage}`)),
        ms("answerMs", "push to the new version's answer"),
        ms("rollbackMs", "rollback to DEPLOYED"),
        ms("rollback.deploy", "  of that, deploy"),
      ],
      systems: ["floor", "server"],
      warmUps: isQuick ? 1 : 2,
      requests: 1,
      run: async (system, cleanup) => (await deployerOf(system, cleanup))(),
    },
  ]
}

/** Measures one push and one rollback. */
type Deployer = () => Promise<Sample>

const question = { path: "/runs/wait", body: { assistant_id: "chat", input: userSays("hello") } }

async function handDeployer(cleanup: Cleanup): Promise<Deployer> {
  const folder = await newFolder("by-hand")
  const repository = agentRepository(folder)
  const hand = await byHand(folder, { repository: repository.url, ask: question }, cleanup)
  await hand.deploy()
  let last = "v1"
  let pushes = 0
  return async () => {
    const version = `hand-${++pushes}`
    repository.commit(version)
    const { fetchMs, buildMs, startMs, answerMs, answer } = await hand.deploy()
    assertAnswers(answer, version)
    const back = await hand.goBack()
    assertAnswers(back.answer, last)
    last = version
    return {
      deployedMs: fetchMs + buildMs + startMs,
      fetch: fetchMs,
      build: buildMs,
      deploy: startMs,
      answerMs,
      rollbackMs: back.startMs,
      "rollback.deploy": back.startMs,
    }
  }
}

const secret = "signing secret of the git host"
// Polling is disabled, so that only the webhook reports the push.
const settings = { SUPERSTEP_WEBHOOK_SECRET: secret, SUPERSTEP_POLL_INTERVAL: "0" }

async function platformDeployer(cleanup: Cleanup): Promise<Deployer> {
  const folder = await newFolder("pushed")
  const repository = agentRepository(folder)
  const platform = await startPlatform(folder, { repository: repository.url, settings }, cleanup)
  const agent = platform.agent("pushed")
  const id = await platform.deploy("pushed", { buildOnPush: true })
  let last = { version: "v1", revisionId: (await platform.untilDeployed(id)).id }
  let pushes = 0
  return async () => {
    const version = `pushed-${++pushes}`
    const sha = repository.commit(version)
    const begin = performance.now()
    const deployed = await platform.untilDeployed(id, await tellOfPush(platform, repository, sha))
    const deployedMs = performance.now() - begin
    assertAnswers(await ask(agent), version)
    const answerMs = performance.now() - begin
    const rollback = await timeRollback(platform, id, last.revisionId)
    assertAnswers(await ask(agent), last.version)
    last = { version, revisionId: deployed.id }
    return { deployedMs, answerMs, ...deployed.duration_ms_by_stage, ...rollback }
  }
}

async function tellOfPush({ api }: Platform, { url }: AgentRepository, after: string): Promise<string> {
  const repoUrl = url.replace(/\.git$/, "")
  const { path, headers, text } = signedPush("github", secret, { after, repoUrl, files: ["src/version.ts"] })
  const reply = await callJson({ ...api, headers: { ...api.headers, ...headers } }, "POST", path, JSON.parse(text))
  const revisionId = (reply as { deployments: { revision_id?: string }[] }).deployments[0]?.revision_id
  check(revisionId !== undefined, `the push was ignored: ${JSON.stringify(reply)}`)
  return revisionId
}

async function timeRollback(platform: Platform, id: string, to: string): Promise<Sample> {
  const begin = performance.now()
  const reply = await callJson(platform.api, "POST", `/v2/deployments/${id}/rollback`, { revision_id: to })
  const revision = await platform.untilDeployed(id, (reply as { latest_revision_id: string }).latest_revision_id)
  const rollbackMs = performance.now() - begin
  const stages = Object.entries(revision.duration_ms_by_stage).map(([stage, took]) => [`rollback.${stage}`, took])
  return { rollbackMs, ...Object.fromEntries(stages) }
}

const ask = async (agent: Target) => (await timeCall(agent, "POST", question.path, question.body)).answer

function assertAnswers(answer: string, version: string): void {
  check(answer.includes(`hello from ${version}`), `the response is not from ${version}: ${answer.slice(0, 500)}`)
}

async function newFolder(name: string): Promise<string> {
  const folder = join(temporaryFolder(), name)
  await mkdir(folder)
  return folder
}
