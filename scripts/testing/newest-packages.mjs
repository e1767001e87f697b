/**
 * Creates a second checkout for `npm test -- --newest`: the same files, with the newest LangGraph packages (listed in
 * `tests/newest`) instead of those that package-lock.json pins. The tests need no change: graphs, workers and clients of the
 * copy resolve their packages there.
 */
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { makeSecondCheckout } from "../second-checkout.mjs"
import { commandStep, missingPackages, root } from "../setup.mjs"

const pins = join(root, "tests/newest")

/** Projects that deployments build with `npm ci`: their own lock files get the newest packages. */
const builtProjects = ["tests/agent", "examples/chat", "examples/approval"]

/**
 * @param folder  an empty folder, which becomes the checkout
 * @returns  its packages with their versions, such as `@langchain/core 1.4.0`
 */
export async function makeNewestCheckout(folder) {
  await installPins()
  makeSecondCheckout(folder, join(pins, "node_modules"))
  for (const project of builtProjects) pinProject(join(folder, project))
  return Object.entries(readJson(join(pins, "package.json")).dependencies).map((pin) => pin.join(" "))
}

async function installPins() {
  const lock = readJson(join(pins, "package-lock.json"))
  const installed = join(pins, "node_modules/.package-lock.json")
  if (missingPackages(lock, existsSync(installed) ? readJson(installed) : undefined).length === 0) return
  const args = ["ci", "--ignore-scripts", "--no-fund", "--no-audit", "--loglevel=error"]
  await commandStep("installing the newest LangGraph", "npm", args, { cwd: pins })
}

function pinProject(folder) {
  const { dependencies } = readJson(join(pins, "package.json"))
  const { devDependencies, ...manifest } = readJson(join(folder, "package.json"))
  writeFileSync(join(folder, "package.json"), JSON.stringify({ ...manifest, dependencies }, null, 2))
  cpSync(join(pins, "package-lock.json"), join(folder, "package-lock.json"))
}

const readJson = (file) => JSON.parse(readFileSync(file, "utf8"))
