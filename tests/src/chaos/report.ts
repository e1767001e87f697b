/** A campaign's outcome as a table. Pure. */
import type { CampaignReport } from "./campaign.js"
import { disturbances, targets as killed, points } from "./kill.js"
import type { Promised } from "./verdict.js"

const promises: readonly [Promised, string][] = [
  ["lost", "lost runs"],
  ["unsaved", "super-steps of `sync` from unsaved checkpoints"],
  ["repeated", "repeated committed nodes"],
  ["hole", "holes and repeats in streams"],
  ["state", "wrong states"],
  ["attempt", "wrong attempts"],
  ["left", "left behind"],
  ["history", "histories that no order explains"],
  ["rule", "rules that were broken"],
  ["aim", "aims that were never hit"],
]

export const totalKills = ({ kills }: Pick<CampaignReport, "kills">): number =>
  kills.reduce((all, { count }) => all + count, 0)

const strikesOf = (kills: CampaignReport["kills"]): string[] =>
  [kills, kills.filter(({ isHit }) => isHit)].map(({ length }) => String(length))

/** Kills by kind and point, with how many strikes there were and how many hit their point; then what they did; each broken promise with what it was. */
export function renderReport(report: CampaignReport): string {
  const isDisturbed = report.kills.some(({ target }) => disturbances.some((each) => each === target))
  const targets = isDisturbed ? [...killed, ...disturbances] : killed
  const header = ["kills", ...targets, "all", "strikes", "hit"]
  const rows = points.map((point) => {
    const counts = targets.map((target) => totalKills({ kills: report.kills.filter(isAt(point, target)) }))
    const sum = counts.reduce((one, two) => one + two, 0)
    return [
      point,
      ...counts.map(String),
      String(sum),
      ...strikesOf(report.kills.filter((kill) => kill.point === point)),
    ]
  })
  const all = targets.map((target) =>
    String(totalKills({ kills: report.kills.filter((kill) => kill.target === target) })),
  )
  const attempts = [...report.attempts].sort(([one], [two]) => one - two)
  const facts = [
    ["seed", String(report.seed)],
    ["conversations, runs", `${report.conversations}, ${report.runs}`],
    ["streams, connections", `${report.streams}, ${report.connections}`],
    ...judgedBy(report),
    ["runs by attempts", attempts.map(([attempt, runs]) => `${attempt}: ${runs}`).join(", ")],
    ...promises.map(([promise, words]) => [
      words,
      String(report.broken.filter((one) => one.promise === promise).length),
    ]),
  ]
  const tried = [...report.promises].map(([id, times]) => [id, String(times)])
  const broken = report.broken.map(({ promise, detail }) => `${promise}: ${detail}`)
  const kills = table([header, ...rows, ["all", ...all, String(totalKills(report)), ...strikesOf(report.kills)]])
  const marks = tried.length === 0 ? [] : [table([["promise", "put to the test"], ...tried])]
  return [kills, ...aimsOf(report), table(facts), ...marks, ...broken].join("\n\n")
}

function aimsOf({ aims }: CampaignReport): string[] {
  if (aims.size === 0) return []
  const rows = [...aims].map(([name, { attempts, hits }]) => [name, String(attempts), String(hits)])
  return [table([["aims", "attempts", "hit"], ...rows])]
}

function judgedBy({ judged }: CampaignReport): [string, string][] {
  if (judged.threads === 0) return []
  const counts = `${judged.threads}, ${judged.calls}, ${judged.unknown}, ${judged.undecided.length}`
  return [["histories: threads, calls, unknown, undecided", counts]]
}

const isAt = (point: string, target: string) => (kill: CampaignReport["kills"][number]) =>
  kill.point === point && kill.target === target

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
  return rows.map((row) => line(row).join("  ").trimEnd()).join("\n")
}
