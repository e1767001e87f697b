/** Tries to take each lock that it is told on its input, and answers with "ours" or "taken"; ends with its input. */
import { createInterface } from "node:readline"
import { takeLock } from "../process-lock.js"

for await (const file of createInterface({ input: process.stdin })) {
  process.stdout.write((await takeLock(file)) ? "taken\n" : "ours\n")
}
