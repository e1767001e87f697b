/**
 * The cost of very many deployments without requests, for the control plane, the edge and Postgres. One deployment is really deployed; the
 * others are copies of its rows, which the control plane starts, watches and lets sleep like any other. Their agent servers are the small
 * ones of the pipeline's tests: what a real one costs is in the scenario of idle deployments.
 */
import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { deploymentOf, type Platform, smallProject, testPlatform } from "@superstep/control/pipeline/testing/platform"
import { type MasterKey, masterKey, seal } from "@superstep/control/secrets/seal"
import { contextOf } from "@superstep/control/secrets/sealed-columns"
import { bareRepository } from "@superstep/control/sources/testing/bare-repository"
import type { Database } from "@superstep/toolkit/db/database"
import { identifier, joinSql, sql } from "@superstep/toolkit/db/sql"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { v7 as newId } from "uuid"
import type { Options } from "../options.js"
import { cpuOf, processesOf } from "../process-usage.js"
import type { Cleanup } from "../processes.js"
import type { Sample, Scenario } from "./scenario.js"

export const crowdScenarios = ({ isQuick }: Options): Scenario[] => {
  const [seconds, settleSeconds] = isQuick ? [5, 1] : [60, 30]
  const scenario = (deployments: number, name: string, maySleep: boolean): Scenario => ({
    name: `${deployments} ${name} deployments, by rows`,
    metrics: [
      { key: "cpu", label: "processor, of one core", unit: "%", better: "low" },
      { key: "controlCpu", label: "of that, the control plane", unit: "%", better: "low" },
      { key: "postgresCpu", label: "of that, Postgres", unit: "%", better: "low" },
      { key: "edgeCpu", label: "of that, the edge", unit: "%", better: "low" },
      { key: "unitsCpu", label: "beside that, the small agent servers", unit: "%", better: "low" },
    ],
    systems: ["server"],
    warmUps: 0,
    requests: 1,
    maxRounds: 1,
    run: (_, cleanup) => restInACrowd(cleanup, { deployments, maySleep, seconds, settleSeconds }),
  })
  if (isQuick) return [scenario(5, "sleeping", true), scenario(3, "awake", false)]
  return [scenario(20, "sleeping", true), scenario(200, "sleeping", true), scenario(50, "awake", false)]
}

interface Crowd {
  readonly deployments: number
  readonly maySleep: boolean
  readonly seconds: number
  readonly settleSeconds: number
}

// More than all units get, so that none is refused a start.
const connections = 10_000
const startMs = 300_000

async function restInACrowd(
  cleanup: Cleanup,
  { deployments, maySleep, seconds, settleSeconds }: Crowd,
): Promise<Sample> {
  const platform = await testPlatform()
  cleanup.add(() => platform[Symbol.asyncDispose]())
  const control = await platform.start({
    SUPERSTEP_DATABASE_CONNECTIONS: String(connections),
    SUPERSTEP_IDLE_MINUTES: maySleep ? "0.02" : "10",
    LOG_LEVEL: "info",
  })
  const deploymentId = await deployOne(platform, maySleep)
  const { db, home } = platform
  const key = masterKey(Buffer.from(await readFile(join(home, "master.key"), "utf8"), "base64"))
  const isAsleep = async () => (await db.rows(sql`select from units where connections > 0`)).length === 0
  if (maySleep) await until(isAsleep, { what: "it sleeps", timeoutMs: startMs })
  const copies = Array.from({ length: deployments - 1 }, (_, number) => `copy-${number}`)
  for (const name of copies) await copyDeployment(db, key, deploymentId, name)
  const isUp = async () => (await db.rows(sql`select from units where is_answering`)).length === deployments
  if (!maySleep) await until(isUp, { what: "all answer", timeoutMs: startMs })
  await sleep(settleSeconds * 1000, undefined, { ref: false })
  return measure(platform, control.pid ?? 0, seconds)
}

async function deployOne(platform: Platform, maySleep: boolean): Promise<string> {
  const repository = bareRepository(temporaryFolder())
  repository.commit(smallProject)
  const config = { deployment_type: maySleep ? "dev_free" : "dev" }
  const { deploymentId, revisionId } = await platform.deploy(deploymentOf(repository.url, { name: "first", config }))
  const { status } = await platform.untilEnded(deploymentId, revisionId)
  if (status !== "DEPLOYED") throw new Error(`the revision ended in ${status}`)
  return deploymentId
}

/** With its revision, its unit, and its sleep. */
async function copyDeployment(db: Database, key: MasterKey, from: string, name: string): Promise<void> {
  const [deploymentId, revisionId, unitId] = [newId(), newId(), newId()]
  const password = seal(key, "", contextOf.database(deploymentId))
  const token = seal(key, randomBytes(32).toString("base64url"), contextOf.unit(unitId))
  await db.transaction(async (tx) => {
    const copy = async (table: string, change: object) => {
      const names = await tx.rows<{ name: string }>(sql`
        select column_name as name from information_schema.columns
        where table_name = ${table} and is_identity = 'NO' and is_generated = 'NEVER'`)
      const columns = joinSql(
        names.map(({ name }) => identifier(name)),
        ", ",
      )
      const copied = joinSql(
        names.map(({ name }) => sql`copied.${identifier(name)}`),
        ", ",
      )
      const record = sql`jsonb_populate_record(null::${identifier(table)}, to_jsonb(original) || ${JSON.stringify(change)}::jsonb)`
      await tx.run(sql`
        insert into ${identifier(table)} (${columns})
        select ${copied} from ${identifier(table)} original, ${record} copied where original.deployment_id = ${from}`)
    }
    const ofDeployment = { deployment_id: deploymentId }
    await copy("deployments", {
      ...ofDeployment,
      name,
      route_name: name,
      latest_revision_id: null,
      active_revision_id: null,
      database_password_sealed: password,
    })
    await copy("revisions", { ...ofDeployment, revision_id: revisionId })
    await tx.run(sql`
      update deployments set latest_revision_id = ${revisionId}, active_revision_id = ${revisionId}
      where deployment_id = ${deploymentId}`)
    await copy("units", {
      ...ofDeployment,
      revision_id: revisionId,
      unit_id: unitId,
      token_sealed: token,
      connections: 0,
    })
    await copy("sleeps", ofDeployment)
    await tx.run(sql`select pg_notify('superstep_pipeline', ${deploymentId})`)
  })
}

async function measure({ db, home }: Platform, controlPid: number, seconds: number): Promise<Sample> {
  const folder = (await db.row<{ data_directory: string }>(sql`show data_directory`))?.data_directory ?? ""
  const inHome = await processesOf(home)
  const pidsOf = (pattern: RegExp) => inHome.filter(({ command }) => pattern.test(command)).map(({ pid }) => pid)
  const groups = {
    controlCpu: [controlPid],
    postgresCpu: (await processesOf(folder)).map(({ pid }) => pid),
    edgeCpu: pidsOf(/^superstep edge/),
    unitsCpu: pidsOf(/superstep-unit-/),
  }
  const usage = async () =>
    Promise.all(Object.values(groups).map(async (pids) => (pids.length === 0 ? 0 : cpuOf(pids))))
  const [before, begin] = [await usage(), performance.now()]
  await sleep(seconds * 1000, undefined, { ref: false })
  const [after, durationMs] = [await usage(), performance.now() - begin]
  const shares = after.map((ms, index) => ((ms - (before[index] ?? 0)) / durationMs) * 100)
  const [controlCpu = 0, postgresCpu = 0, edgeCpu = 0, unitsCpu = 0] = shares
  return { cpu: controlCpu + postgresCpu + edgeCpu, controlCpu, postgresCpu, edgeCpu, unitsCpu }
}
