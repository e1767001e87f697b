/**
 * Brings what builds and units print from their files into `log_lines`. The offset that was read is stored in the same
 * transaction as the lines, so a killed control plane leaves neither a hole nor a repeat.
 */
import type { BuildLogLine } from "../builders/build-request.js"
import { readLines } from "../files/read-lines.js"
import type { NewLogLine } from "../logs/log-line.js"
import { appendLogLines } from "../logs/operations.js"
import { type ClaimedRevision, holdClaim, recordBuildLog } from "../revisions/claims.js"
import { secretsOfRevision } from "../secrets/operations.js"
import type { PipelineContext } from "./context.js"
import { recordUnitLog, type UnitRow } from "./queries.js"
import type { StageInput } from "./stage.js"

/** Adds our own words to the build's log. */
export async function logBuild(
  { context, revision }: Pick<StageInput, "context" | "revision">,
  lines: readonly (string | NewLogLine)[],
): Promise<void> {
  await context.db.transaction(async (tx) => {
    await holdClaim(tx, revision)
    await appendLogLines(tx, revision.revision_id, "build", lines)
  })
}

/** @returns where the next reading begins; the same as `from` when there was nothing new */
export async function shipBuildLog(
  { db }: PipelineContext,
  revision: ClaimedRevision,
  file: string,
  from: number,
): Promise<number> {
  const { lines, next } = await readLines(file, from)
  if (next === from) return from
  const parsed = lines.map((line) => JSON.parse(line) as BuildLogLine)
  await db.transaction(async (tx) => {
    await recordBuildLog(tx, revision, next)
    const rows = parsed.map(({ at, level, message }) => ({ at: new Date(at), level, message }))
    await appendLogLines(tx, revision.revision_id, "build", rows)
  })
  return next
}

// An agent may run for years: its file is begun anew when everything in it is stored.
const keptBytes = 10 * 1024 * 1024

/** Ships what a unit has printed since the last time. */
export async function shipUnitLog({ db, key, runtime }: PipelineContext, unit: UnitRow): Promise<void> {
  const forget = async () => {
    await runtime.forgetLogs(unit.unit_id)
    await recordUnitLog(db, unit.unit_id, 0)
  }
  let from = unit.log_offset
  for (;;) {
    const { lines, next } = await runtime.logs(unit.unit_id, from)
    if (next === from) return from > keptBytes ? forget() : undefined
    const secrets = Object.values(await secretsOfRevision(db, key, unit))
    const rows = lines.map(parseLine)
    await db.transaction(async (tx) => {
      await recordUnitLog(tx, unit.unit_id, next)
      await appendLogLines(tx, unit.revision_id, "deploy", rows, { secrets })
    })
    from = next
  }
}

const levels: Readonly<Record<string, NonNullable<NewLogLine["level"]>>> = {
  trace: "DEBUG",
  debug: "DEBUG",
  info: "INFO",
  warn: "WARNING",
  warning: "WARNING",
  error: "ERROR",
  fatal: "CRITICAL",
  critical: "CRITICAL",
}

/** A line of our own log is taken apart; any other is a message as it stands. */
export function parseLine(line: string): NewLogLine {
  const entry = entryOf(line)
  if (typeof entry?.msg !== "string") return { message: line }
  const { level, time, msg, process: _process, ...fields } = entry
  const at = typeof time === "string" ? new Date(time) : undefined
  const known = typeof level === "string" ? levels[level.toLowerCase()] : undefined
  const rest = Object.keys(fields).length === 0 ? "" : ` ${JSON.stringify(fields)}`
  return {
    message: `${msg}${rest}`,
    ...(known && { level: known }),
    ...(at && !Number.isNaN(at.getTime()) && { at }),
  }
}

function entryOf(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith("{")) return undefined
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    // It only looked like JSON: user code prints what it likes.
    return undefined
  }
}
