/** The control plane as in production, except for the programs it starts: fake units, and programs of builds without LangGraph. */
import { fileURLToPath } from "node:url"
import { start } from "../../start.js"

const entry = (name: string) => fileURLToPath(import.meta.resolve(`@superstep/machines/testing/${name}`))

await start({
  server: entry("fake-unit"),
  verify: fileURLToPath(import.meta.resolve("@superstep/builder/testing/fake-verify")),
  verifyPython: "",
  analyse: entry("fake-analyse"),
})
