/**
 * Finds what a platform has on its machine besides what its tables say: processes, sockets, files, databases, sessions,
 * locks. For a platform with a Postgres of its own (`killedPlatform`), so that everything in there belongs to it.
 */
import assert from "node:assert/strict"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { machineFolders } from "@superstep/machines/parts/files/folders"
import { sql } from "@superstep/toolkit/db/sql"
import { heldWithin } from "@superstep/toolkit/testing/until"
import { lockClass } from "../../home/home-queries.js"
import type { Platform } from "./platform.js"
import { canFindProcesses, processesOf } from "./processes-of.js"

/**
 * Waits until a platform whose control plane runs has exactly what its deployments need: for each one unit of the serving
 * revision, its own database and role, and no work in progress.
 * @throws AssertionError  with everything extra and everything missing
 */
export async function untilNothingIsLeft(platform: Platform): Promise<void> {
  let last: { readonly is: unknown; readonly should: unknown } = { is: undefined, should: undefined }
  const look = async () => {
    const tables = await tablesOf(platform)
    last = { is: await present(platform, tables), should: wanted(platform, tables) }
    return isDeepStrictEqual(last.is, last.should)
  }
  if (!(await heldWithin(look, 30_000))) assert.deepEqual(last.is, last.should)
}

interface Tables {
  readonly deployments: readonly { readonly id: string; readonly active: string | null; readonly database: string }[]
  readonly units: readonly { readonly id: string; readonly revision: string; readonly role: string }[]
  readonly artifacts: readonly string[]
  readonly goesOn: number
}

async function tablesOf({ db }: Platform): Promise<Tables> {
  const row = await db.row<Tables>(sql`
    select coalesce((select jsonb_agg(jsonb_build_object('id', deployment_id, 'active', active_revision_id,
        'database', database_name) order by deployment_id) from deployments), '[]') as deployments,
      coalesce((select jsonb_agg(jsonb_build_object('id', u.unit_id, 'revision', u.revision_id, 'role', r.role)
        order by u.deployment_id) from units u join revisions r using (revision_id)), '[]') as units,
      coalesce((select jsonb_agg(artifact_id) from artifacts), '[]') as artifacts,
      (select count(*) from revisions where stage is not null or lease_owner is not null) as "goesOn"`)
  assert.ok(row)
  return row
}

type Picture = Readonly<Record<string, unknown>>

/** Pure, apart from the two ports. */
function wanted(platform: Platform, { deployments, units, artifacts }: Tables): Picture {
  const { home, apiUrl, agentsUrl } = platform
  const { edge, edgeState, edgeSockets, unitSockets, controlSockets } = machineFolders(home)
  const wakeSocket = join(controlSockets, "wake.sock")
  // As root the two are processes of their own.
  const isSplit = process.getuid?.() === 0
  const databases = deployments.map(({ database }) => database).sort()
  const socket = (unitId: string) => join(unitSockets, `${unitId.replaceAll("-", "").slice(-16)}.sock`)
  const unitProcess = ({ id }: Tables["units"][number]) => ({
    is: `unit ${id}`,
    // The path it was bound to, before the rename to its place.
    listens: [`${socket(id)}.new`],
  })
  return {
    goesOn: 0,
    units: deployments.map(({ active }) => `serving ${active}`),
    databases: ["postgres", "superstep", ...databases].sort(),
    roles: ["postgres", ...databases].sort(),
    sessions: [],
    locks: [],
    processes: !canFindProcesses
      ? []
      : [
          ...(isSplit ? [{ is: "machine", listens: [] }] : []),
          { is: "control plane", listens: [wakeSocket, `tcp ${new URL(apiUrl).port}`] },
          { is: "edge", listens: [join(edgeSockets, "admin.sock"), `tcp ${new URL(agentsUrl).port}`] },
          ...units.map(unitProcess),
        ].sort(byName),
    files: [
      ...homeFiles.map((name) => join(home, name)),
      ...artifacts.map((id) => join(home, "artifacts", id)),
      ...deployments.map(({ id }) => join(home, "cache", id)),
      ...units.map(({ id }) => join(home, "units", id)),
      ...["certificates", "pid.json", "token.json"].map((name) => join(edge, name)),
      ...[join(edgeState, "table.json"), join(edgeSockets, "admin.sock"), wakeSocket],
      ...units.map(({ id }) => socket(id)),
    ].sort(),
  }
}

const homeFiles = ["control", "control.json", "id", "machine.json", "master.key"]
// Logs and git's home exist as soon as something has written them, and stay.
const mayBeThere = /^(out\.log(\.1)?|retired|state|successor\.json)$/

/** What exists, in the form of `wanted`. */
async function present(platform: Platform, { units, goesOn }: Tables): Promise<Picture> {
  const { db, home, temporary } = platform
  const { run, unitSockets, edgeSockets, controlSockets } = machineFolders(home)
  const names = async (statement: ReturnType<typeof sql>) =>
    (await db.rows<{ name: string }>(statement)).map(({ name }) => name).sort()
  return {
    goesOn,
    units: units.map(({ role, revision }) => `${role} ${revision}`),
    databases: await names(sql`select datname as name from pg_database where not datistemplate`),
    roles: await names(sql`select rolname as name from pg_roles where rolname not like 'pg\_%'`),
    // The control plane's own sessions are only in its database and in no long transaction; fake units have none.
    sessions: await names(sql`
      select coalesce(usename, '') || ' in ' || datname || ': ' || query as name from pg_stat_activity
      where datname is not null and pid <> pg_backend_pid()
        and (datname <> current_database() or usename <> current_user or state like 'idle in%')`),
    // Each session of the process in charge has one.
    locks: await names(sql`
      select pid::text as name from pg_locks
      where locktype = 'advisory' and (classid::bigint <> ${lockClass}
        or objid::bigint is distinct from (select hashtext(process_id)::bigint & 4294967295 from home_in_charge))`),
    processes: canFindProcesses ? found(platform, units) : [],
    files: [
      ...entries(home).filter((path) => path !== run && !folderNames.has(path.slice(home.length + 1))),
      ...[...folderNames].flatMap((name) => entries(join(home, name))),
      ...[run, unitSockets, edgeSockets, controlSockets]
        .flatMap(entries)
        .filter((path) => ![unitSockets, edgeSockets, controlSockets].includes(path)),
      ...entries(temporary).filter((path) => path !== run),
    ]
      .filter((path) => !mayBeThere.test(path.slice(path.lastIndexOf("/") + 1)))
      .sort(),
  }
}

const folderNames = new Set(["artifacts", "cache", "edge", "edge/retired", "edge/state", "units", "work"])

const entries = (folder: string): string[] =>
  existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []

function found({ home }: Platform, units: Tables["units"]): { is: string; listens: readonly string[] }[] {
  const pidIn = (file: string): number | undefined =>
    existsSync(join(home, file))
      ? (JSON.parse(readFileSync(join(home, file), "utf8")) as { pid: number }).pid
      : undefined
  const known = new Map([
    [pidIn("edge/pid.json"), "edge"],
    ...units.map(({ id }) => [pidIn(`units/${id}/pid.json`), `unit ${id}`] as const),
  ])
  return processesOf(home)
    .map(({ pid, command, listens }) => ({ is: known.get(pid) ?? titles.get(command) ?? command, listens }))
    .sort(byName)
}

const titles = new Map([
  ["superstep control plane", "control plane"],
  ["superstep machine", "machine"],
])

const byName = (a: { is: string }, b: { is: string }): number => (a.is < b.is ? -1 : 1)
