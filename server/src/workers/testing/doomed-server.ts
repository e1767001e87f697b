/** A process with a pool whose worker never gives its event loop back. It prints the worker's pid and socket. */
import { noteDown, runOrder, seen, startTestPool, type Told } from "./test-pool.js"

const { pool } = await startTestPool()
const told: Told = { events: [], ends: [] }
pool.execute(runOrder([{ do: "environment" }, { do: "pause" }, { do: "spin" }]), noteDown(told))
const { data } = await seen(told, "environment")
process.stdout.write(`${JSON.stringify(data)}\n`)
