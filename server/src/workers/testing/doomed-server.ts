/** A process with a pool whose worker's event loop is blocked forever. It prints the worker's pid and socket. */
import { type RecordedCalls, recordCalls, runOrder, seen, startTestPool } from "./test-pool.js"

const { pool } = await startTestPool()
const told: RecordedCalls = { events: [], ends: [] }
pool.execute(runOrder([{ do: "environment" }, { do: "pause" }, { do: "spin" }]), recordCalls(told))
const { data } = await seen(told, "environment")
process.stdout.write(`${JSON.stringify(data)}\n`)
