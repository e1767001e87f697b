/** Tries to take each lock named on its input, and prints "ours" or "taken"; exits at the end of its input. */
import { createInterface } from "node:readline"
import { takeLock } from "../process-lock.js"

for await (const file of createInterface({ input: process.stdin })) {
  process.stdout.write((await takeLock(file)) ? "taken\n" : "ours\n")
}
