/**
 * The upgrade from the last release, whose own program starts the installation and its agents; then this release takes over, agents get its
 * agent server, the last release comes back as far as docs/upgrading.md promises, and this one takes over again. Callers notice nothing of it.
 */
import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import type { ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { agentLanguages } from "../testing/languages.js"
import { lastRelease, serverOf, thisRelease, withoutLastRelease } from "../testing/last-release.js"
import { processesOf, startLocalPlatform } from "../testing/platform.js"
import { type Release, startTakeOver, untilUp } from "../testing/releases.js"
import { startAgentInUse } from "./agent-in-use.js"

const languages = agentLanguages.filter(({ skip }) => skip === false)

const json = <T>(...path: string[]) => JSON.parse(readFileSync(join(...path), "utf8")) as T

/** What serves callers: the processes of agents, with the agent server that they were started from, and the others. */
const serving = (home: string) => ({
  postgres: readFileSync(join(home, "postgres/data/postmaster.pid"), "utf8").split("\n")[0],
  edge: json<ProcessIdentity>(home, "edge/pid.json").pid,
  agents: readdirSync(join(home, "units"))
    .map((id) => ({
      pid: json<ProcessIdentity>(home, "units", id, "pid.json").pid,
      server: json<{ entry: string }>(home, "units", id, "program.json").entry,
    }))
    .toSorted((one, other) => one.pid - other.pid),
})

/** Names of migrations of this release's control plane that the last release can neither apply nor live with. */
const breakingMigrations = () => {
  const namesOf = ({ folder }: Pick<Release, "folder">) => readdirSync(join(folder, "control/src/migrations"))
  const known = new Set(namesOf(lastRelease))
  const isBreaking = (name: string) =>
    /^-- breaking/m.test(readFileSync(join(thisRelease.folder, "control/src/migrations", name), "utf8"))
  return namesOf(thisRelease).filter((name) => name.endsWith(".sql") && !known.has(name) && isBreaking(name))
}

test(`an upgrade from the last release, with agents in ${languages.map(({ name }) => name).join(" and ")}`, {
  skip: withoutLastRelease,
}, async (t) => {
  await using platform = await startLocalPlatform({ release: lastRelease, env: { SUPERSTEP_WATCH: "1" } })
  const { home } = platform
  const agents = await Promise.all(
    languages.map(({ name }) => startAgentInUse(platform, { language: name, questions: 3 })),
  )
  const ofEach = <T>(act: (agent: (typeof agents)[number]) => Promise<T>) => Promise.all(agents.map(act))
  const before = serving(home)

  await using upgraded = startTakeOver(thisRelease, platform)
  await untilUp(upgraded)
  const upgradedAt = new Date().toISOString()
  await ofEach((agent) => agent.untilAnswered(30))

  await t.test("agents and Postgres go on, and the edge is of this release", async () => {
    const { edge, ...others } = serving(home)
    assert.notEqual(edge, before.edge)
    assert.deepEqual(others, { agents: before.agents, postgres: before.postgres })
    assert.equal(await platform.ended, 0)
  })

  await t.test(
    "what was saved is the same, a question is answered, the queue goes on, and secrets are decrypted",
    async () => {
      await ofEach((agent) => agent.assertSaved())
      await ofEach((agent) => agent.answerOne())
      await ofEach((agent) => agent.endQueue())
      assert.deepEqual(new Set(await ofEach((agent) => agent.secret())), new Set(["sk-1"]))
    },
  )

  await t.test("a redeploy gives agents this release's agent server, with the same state", async () => {
    await ofEach((agent) => agent.redeploy())

    const servers = serving(home).agents.map(({ server }) => server)
    assert.ok(servers.filter((server) => server === serverOf(thisRelease)).length >= agents.length, servers.join(" "))
    await ofEach((agent) => agent.untilAnswered(30))
    await ofEach((agent) => agent.assertSaved())
    await ofEach((agent) => agent.answerOne())
  })

  const [breaking] = breakingMigrations()
  await using former = startTakeOver(lastRelease, platform, { env: { SUPERSTEP_STOP_ALL_ON_EXIT: "0" } })
  await t.test("the last release comes back where the database allows it, and refuses it where not", async () => {
    if (breaking !== undefined) {
      assert.equal(await former.ended, 1)
      assert.match(former.output(), new RegExp(`${breaking}, which this release does not have: run a newer release`))
    } else {
      await untilUp(former)
      assert.equal(await upgraded.ended, 0)
      await ofEach((agent) => agent.redeploy())
      await ofEach((agent) => agent.answerOne())
    }
    await ofEach((agent) => agent.untilAnswered(30))
    await ofEach((agent) => agent.assertSaved())
    await ofEach((agent) => agent.untilCronRan(upgradedAt))
  })

  // As a service is restarted: the former program ends first, and agents go on without it.
  if (breaking === undefined) former.child.kill("SIGTERM")
  const formerCode = await former.ended
  const ports = ["--port", new URL(platform.credentials.url).port, "--agents-port", new URL(platform.agentsUrl).port]
  await using again = breaking === undefined ? startTakeOver(thisRelease, platform, { args: ports }) : undefined
  await t.test("no request failed, no stream was cut, and nothing is left", async () => {
    if (again) {
      await untilUp(again)
      assert.equal(formerCode, 0, former.output())
      await ofEach((agent) => agent.untilAnswered(30))
    }
    const last = again ?? upgraded
    assert.deepEqual((await ofEach((agent) => agent.stop())).flat(), [])
    last.child.kill("SIGINT")
    assert.equal(await last.ended, 0)
    assert.deepEqual(await processesOf(home), [])
  })
})
