/**
 * The faults that `npm run planted` plants, one at a time, and the campaign that should find each. A change names a place that must be in its
 * file exactly once; `npm run check` fails when it is not.
 */

import { faultsOfPairs } from "./faults-of-pairs.mjs"
import { faultsOfTheQueue } from "./faults-of-the-queue.mjs"

const chaos = (...args) => ({ program: "chaos", args })
const simulate = (...args) => ({ program: "simulate", args })

const [claimWrites, claims, publisher] = [
  "server/src/checkpoints/journal.ts",
  "server/src/runs/claims.ts",
  "server/src/events/publisher.ts",
]
const workerRun = "workers/js/src/runs/run.ts"
const [checkpointsSql, runsSql] = [
  "server/src/migrations/functions/checkpoints.sql",
  "server/src/migrations/functions/runs.sql",
]

/**
 * `name`; `what` is wrong; `changes` of the source, as `{ file, find, replace }`; the `campaign` that should find it; `isQuick`: within a minute
 * on two processors, so the wide tests take it too.
 */
export const faults = [
  {
    name: "a fence removed",
    what: "the late writes of an attempt that is over are accepted",
    changes: [
      {
        file: checkpointsSql,
        find: "perform from runs r where r.run_id = _claim.run_id and r.claim_id = _claim.claim_id for update;",
        replace: "perform from runs r where r.run_id = _claim.run_id for update;",
      },
    ],
    campaign: chaos("--servers", "4", "--lease", "2", "--kills", "400", "--seed", "1"),
  },
  {
    name: "a commit acknowledged early",
    isQuick: true,
    what: "a graph goes on before its checkpoint is committed, also with `durability: sync`",
    changes: [
      {
        file: claimWrites,
        find: "      outcomes = await this.#commit(shares, isApart)\n",
        replace: `      for (const { items } of shares) for (const item of items) if (!item.isEnding) item.resolve({ outcome: "held" })
      outcomes = await this.#commit(shares, isApart)\n`,
      },
    ],
    campaign: chaos("--kills", "400", "--seed", "2"),
  },
  {
    name: "a lease renewed late",
    what: "a lease is renewed shortly after its end, and not when a third of it is over",
    changes: [
      { file: "server/src/servers/lease-times.ts", find: "renewMs: leaseMs / 3,", replace: "renewMs: leaseMs * 1.1," },
      { file: "server/src/servers/peers.ts", find: "self.leaseMs / 3", replace: "self.leaseMs * 1.1" },
    ],
    campaign: chaos("--outages", "calm", "--kills", "40", "--seed", "7"),
  },
  {
    name: "a checkpoint before its events",
    what: "a checkpoint of a resumable run may be committed before the events that led to it",
    changes: [
      {
        file: "server/src/checkpoints/attempt-journal.ts",
        find: "    const items: QueuedWrite[] = []\n",
        replace: `    const all = [...this.#waiting]
    const late = all.filter((item) => item.events)
    if (late.length > 0 && late.length < all.length && !all.some((item) => item.isEnding)) {
      this.#waiting = new Fifo()
      this.#openEvents = undefined
      for (const item of late) this.#waiting.push(item)
      return all.filter((item) => !item.events)
    }
    const items: QueuedWrite[] = []
`,
      },
    ],
    campaign: chaos("--kills", "400", "--seed", "14"),
  },
  {
    name: "an event before its log",
    isQuick: true,
    what: "clients get an event of a resumable run before it is committed",
    changes: [
      {
        file: publisher,
        find: "    if (this.#isLogged) return this.#options.journal.log(",
        replace:
          "    if (this.#isLogged) this.#deliver({ seq, event, data: Buffer.from(data) })\n    if (this.#isLogged) return this.#options.journal.log(",
      },
      {
        file: publisher,
        find: "    for (const event of events) this.#deliverLogged(event)\n    onLogged(appendedEvents(",
        replace: "    onLogged(appendedEvents(",
      },
    ],
    campaign: chaos("--kills", "400", "--seed", "14"),
  },
  {
    name: "a swallowed notification",
    what: "a run whose server did not hear that it was cancelled goes on: the renewal of its lease does not look",
    changes: [
      {
        file: "server/src/runs/executor.ts",
        find: "if (held.cancel_action !== null) {",
        replace: "if (false) {",
      },
    ],
    campaign: chaos("--outages", "calm", "--kills", "40", "--seed", "7"),
  },
  {
    name: "a plan from mixed facts",
    what: "the planner plans with what it saw of a unit before its last action",
    changes: [
      {
        file: "control/src/planner/planner.ts",
        find: "executeOnUnit[does](context, unit).finally(() => observer.lookAgain(unit.unit_id)),",
        replace: "executeOnUnit[does](context, unit),",
      },
    ],
    campaign: simulate("--seeds", "2000", "--from", "1"),
  },
  {
    name: "a removal that does not ask again",
    what: "a unit that retires is removed although a request came since it was seen to be idle",
    changes: [
      {
        file: "control/src/planner/execute.ts",
        find: "  if (isBusy || (await openAtTheEdge(context, unit)) > 0) return\n",
        replace: "",
      },
    ],
    campaign: simulate("--seeds", "2000", "--from", "1"),
  },
  {
    name: "an idempotency key ignored",
    isQuick: true,
    what: "a request that is repeated with its key creates another run",
    changes: [
      {
        file: "server/src/idempotency/queries.ts",
        find: "      where k.created_at < now() - interval '24 hours'`)",
        replace: "      where true`)",
      },
      {
        file: "server/src/idempotency/queries.ts",
        find: "and created_at >= now() - interval '24 hours'`)",
        replace: "and false`)",
      },
    ],
    campaign: chaos("--aims", "quick", "--kills", "400", "--seed", "1"),
  },
  {
    name: "two inputs swapped",
    isQuick: true,
    what: "of the runs that wait on a thread the newest starts first",
    changes: [
      {
        file: claims,
        find: "o.status = 'pending' and is_due_before(o, r)",
        replace: "o.status = 'pending' and is_due_before(r, o)",
      },
    ],
    campaign: chaos("--histories", "--kills", "400", "--seed", "1"),
  },
  {
    name: "a checkpoint lost",
    isQuick: true,
    what: "writes that could not be committed at first are taken for committed",
    changes: [
      {
        file: claimWrites,
        find: "writes: items.map((item) => item.write(attempt.failure)),",
        replace:
          "writes: items.filter((item) => item.isEnding || !item.isRepeated).map((item) => item.write(attempt.failure)),",
      },
    ],
    campaign: chaos("--kills", "400", "--seed", "1"),
  },
  {
    name: "an outage judged without contact",
    what: "after an outage a server takes the runs of servers that live, since nobody could renew a lease",
    changes: [
      {
        file: "server/src/servers/contact.ts",
        find: "if (this.#sinceMs === undefined || this.#lastMs - this.#sinceMs < this.#lastingMs) return undefined",
        replace: "if (this.#sinceMs === undefined) return undefined",
      },
    ],
    campaign: chaos("--outages", "silence", "--kills", "40", "--seed", "1"),
  },
  {
    name: "a cancel forgotten",
    what: "a run that was cancelled and whose server or worker dies is attempted again",
    changes: [
      {
        file: runsSql,
        find: "  if _run.cancel_action is not null then\n    return query select e.outcome, 'interrupted'",
        replace: "  if false then\n    return query select e.outcome, 'interrupted'",
      },
      {
        file: runsSql,
        find: "claim_id = null, claimed_by = null, lease_until = null, claimed_at = null, executed_revision_id = null, updated_at = superstep_now(),\n    -- The thread's pin",
        replace:
          "claim_id = null, claimed_by = null, lease_until = null, claimed_at = null, executed_revision_id = null, updated_at = superstep_now(), cancel_action = null,\n    -- The thread's pin",
      },
    ],
    campaign: chaos("--histories", "--kills", "400", "--seed", "1"),
  },
  {
    name: "a rollback forgotten",
    what: "a run that ends while it is rolled back stays",
    changes: [
      {
        file: runsSql,
        find: "  if _run.cancel_action = 'rollback' then\n    delete from runs r",
        replace: "  if false then\n    delete from runs r",
      },
    ],
    campaign: chaos("--histories", "--kills", "400", "--seed", "1"),
  },
  {
    name: "a run claimed twice",
    what: "two servers may take the same run",
    changes: [
      {
        file: claims,
        find: `where \${canStart} and r.revision_id is null and \${isOurs}
      order by r.not_before, r.seq limit \${limit} for update skip locked),`,
        replace: `where \${canStart} and r.revision_id is null and \${isOurs}
      order by r.not_before, r.seq limit \${limit}),`,
      },
    ],
    campaign: chaos("--outages", "calm", "--kills", "40", "--seed", "7"),
  },
  {
    name: "an edge that routes to a stopped unit",
    isQuick: true,
    what: "a unit is stopped before the edge has heard that it gets no more requests",
    changes: [
      {
        file: "control/src/planner/execute.ts",
        find: '  context.crashPoint("sleep:after-hold")\n  await context.routing.publish()\n',
        replace: '  context.crashPoint("sleep:after-hold")\n',
      },
      {
        file: "control/src/planner/execute.ts",
        find: "async function stop(context: PipelineContext, unit: UnitRow): Promise<void> {\n  await context.routing.publish()\n",
        replace: "async function stop(context: PipelineContext, unit: UnitRow): Promise<void> {\n",
      },
    ],
    campaign: simulate("--seeds", "2000", "--from", "1"),
  },
  {
    name: "C1: a statement without a limit",
    what: "commits hang for good when the host of Postgres vanishes, while leases are renewed",
    changes: [
      {
        file: "server/src/databases.ts",
        find: "poolSize: sizes.engine, cancelAfterMs: engineMs, log",
        replace: "poolSize: sizes.engine, cancelAfterMs: 0, log",
      },
    ],
    campaign: chaos("--outages", "vanished host", "--kills", "40", "--seed", "4"),
  },
  {
    name: "C2: the newest by its id",
    what: "the newest checkpoint is the one with the highest id, which the clock of a worker makes",
    changes: [
      {
        file: "server/src/checkpoints/queries.ts",
        find: "newestFirst: Sql = sql`seq desc, checkpoint_id desc`",
        replace: "newestFirst: Sql = sql`checkpoint_id desc`",
      },
    ],
    campaign: chaos("--histories", "--kills", "400", "--seed", "1"),
  },
  {
    name: "C3: lost commits unnoticed",
    what: "an attempt goes on after a database that has lost its last checkpoint",
    changes: [
      {
        file: checkpointsSql,
        find: "  if _checkpoint_id is not null and _task_id is null then\n",
        replace: "  if false and _checkpoint_id is not null and _task_id is null then\n",
      },
    ],
    campaign: chaos("--lossy", "--kills", "100", "--seed", "1"),
  },
  {
    name: "C4: a lease that waits for a run",
    what: "the renewal of a server's lease locks the rows of its runs, and one that somebody holds costs all others their attempts",
    changes: [
      {
        file: "server/src/servers/queries.ts",
        find: "): Promise<number> =>\n  db.run(sql`\n    with forgotten as",
        replace: `): Promise<number> =>
  db.run(sql\`select from runs where claimed_by = \${serverId} for update\`).then(() => db.run(sql\`
    with forgotten as`,
      },
      {
        file: "server/src/servers/queries.ts",
        find: "seen_at = excluded.seen_at, lease_until = excluded.lease_until`)",
        replace: "seen_at = excluded.seen_at, lease_until = excluded.lease_until`))",
      },
    ],
    campaign: chaos("--outages", "locked run", "--kills", "40", "--seed", "3"),
  },
  {
    name: "C5: reads of graphs take the engine's connections",
    what: "graphs that wait for the store stop the commits and claims of all others",
    changes: [
      {
        file: "server/src/databases.ts",
        find: "const calls = openDatabase({ uri, poolSize: sizes.calls, cancelAfterMs: callMs, log })",
        replace: "const calls = engine",
      },
    ],
    campaign: chaos("--outages", "locked store", "--kills", "40", "--seed", "3"),
  },
  {
    name: "C6: numbers through a double",
    isQuick: true,
    what: "numbers that a double cannot hold change on their way to a graph",
    changes: [
      {
        file: "toolkit/src/http/json.ts",
        find: "return scanJson(text).found.length === 0 ? value : parseExact(text)",
        replace: "return value",
      },
    ],
    campaign: chaos("--histories", "--kills", "400", "--seed", "1"),
  },
  {
    name: "C7: a pooler that shares sessions",
    isQuick: true,
    what: "a server starts behind PgBouncer with pool_mode = transaction, where LISTEN and session settings do not work",
    changes: [{ file: "toolkit/src/db/inspect-server.ts", find: "    await refusePooler(uri, client)\n", replace: "" }],
    campaign: chaos("--outages", "shared sessions", "--kills", "40", "--seed", "3"),
  },
  {
    name: "C8: an event weighs its payload",
    what: "small events of a log count for next to nothing, so that hundreds of thousands wait",
    changes: [
      {
        file: "server/src/checkpoints/claim-batch.ts",
        find: "({ data }: LogEvent): number => data.length + 300",
        replace: "({ data }: LogEvent): number => data.length",
      },
    ],
    campaign: chaos("--outages", "locked log", "--kills", "40", "--seed", "3"),
  },
  {
    name: "C9: a thread deleted at once",
    what: "all checkpoints of a deleted thread go in one statement, which never ends in time for a long thread",
    changes: [
      {
        file: checkpointsSql,
        find: "if not delete_portion(_id, 500, 1024 * 1024) then",
        replace: "if not delete_portion(_id, 1000000000, 1000000000000) then",
      },
    ],
    campaign: chaos("--outages", "slow removal", "--kills", "40", "--seed", "3"),
  },
  {
    name: "C10: events in a pause",
    what: "a Python worker sends a run's interrupts and its last events although its readers are behind",
    changes: [
      {
        file: "workers/python/superstep_worker/runs/run.py",
        find: "        await self._room()\n        self._emit(events)",
        replace: "        self._emit(events)",
      },
    ],
    campaign: chaos("--conversations", "--python", "--kills", "400", "--seed", "1"),
  },
  {
    name: "C10: events in a pause, in JavaScript",
    isQuick: true,
    what: "a JavaScript worker sends a run's interrupts although its readers are behind",
    changes: [
      { file: workerRun, find: "(events) => this.#emit(events),", replace: "(events) => this.#emit(events, false)," },
      { file: workerRun, find: "WireEvent[]): Promise", replace: "WireEvent[], waits = true): Promise" },
      {
        file: workerRun,
        find: "if (paused !== undefined) return",
        replace: "if (paused !== undefined && waits) return",
      },
    ],
    campaign: chaos("--conversations", "--kills", "400", "--seed", "1"),
  },
  ...faultsOfPairs,
  ...faultsOfTheQueue,
]
