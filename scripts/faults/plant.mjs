/** Plants a fault in a copy of this checkout, and hunts it with one of its campaigns. */
import { spawn } from "node:child_process"
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { makeSecondCheckout } from "../second-checkout.mjs"
import { commandStep, SetupFailed } from "../setup.mjs"

const programOf = {
  chaos: ["tests/dist/chaos/main.js"],
  simulate: ["control/dist/testing/simulation/main.js"],
  "simulate queue": ["server/dist/runs/testing/simulation/main.js"],
  pairs: ["--test"],
}
// What a campaign still has to print of what it found.
const restMs = 500

/**
 * @param text    of the file
 * @param change  `{ file, find, replace }`
 * @returns       the text with the fault
 * @throws SetupFailed  the place is not there exactly once
 */
export function planted(text, { file, find, replace }) {
  const places = text.split(find).length - 1
  if (places !== 1)
    throw new SetupFailed(
      `${file} has ${places} places that a fault of scripts/faults/planted-faults.mjs names, not one: ${find}`,
    )
  return text.replace(find, () => replace)
}

/** @returns  problems as `{ path, line, message }`: faults whose place in the source has changed. @param files  `{ path, text }` */
export function checkPlanted(files, faults) {
  return faults.flatMap(({ name, changes }) =>
    changes.flatMap((change) => {
      const text = files.find(({ path }) => path === change.file)?.text ?? ""
      try {
        planted(text, change)
        return []
      } catch (error) {
        if (!(error instanceof SetupFailed)) throw error
        return [{ path: "scripts/faults/planted-faults.mjs", line: 1, message: `${name}: ${error.message}` }]
      }
    }),
  )
}

/** A copy of this checkout for faults, one after the other. */
export async function makeField() {
  const folder = mkdtempSync(join(tmpdir(), "sp-"))
  chmodSync(folder, 0o1777)
  const checkout = join(folder, "checkout")
  makeSecondCheckout(checkout)
  return { checkout, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/**
 * Plants a fault, hunts it, and takes it out.
 * @param field    of `makeField`
 * @param fault    of planted-faults.mjs
 * @param seconds  after which the hunt is given up
 * @param signal   stops it
 * @returns        `{ finding, judge, seconds }`; without a `finding` it was not found
 * @throws SetupFailed  the campaign cannot be run; the reason of `signal`, when it was stopped
 */
export async function hunt({ checkout }, fault, { seconds, signal, onLine = () => undefined }) {
  const sources = new Map(fault.changes.map(({ file }) => [file, readFileSync(join(checkout, file), "utf8")]))
  const compiled = new Map([...sources.keys()].filter(isCompiled).map((file) => [compiledOf(file), undefined]))
  for (const file of compiled.keys()) compiled.set(file, readFileSync(join(checkout, file), "utf8"))
  try {
    for (const change of fault.changes) {
      const path = join(checkout, change.file)
      writeFileSync(path, planted(readFileSync(path, "utf8"), change))
    }
    await build(checkout, [...sources.keys()])
    return await search(checkout, fault.campaign, { seconds, signal, onLine })
  } finally {
    for (const [file, text] of [...sources, ...compiled]) writeFileSync(join(checkout, file), text)
  }
}

const isCompiled = (file) => file.endsWith(".ts")
const compiledOf = (file) => file.replace("/src/", "/dist/").replace(/\.ts$/, ".js")

async function build(checkout, files) {
  const { transform } = await import("esbuild")
  for (const file of files.filter(isCompiled)) {
    const options = { loader: "ts", format: "esm", target: "es2023" }
    const { code } = await transform(readFileSync(join(checkout, file), "utf8"), options)
    writeFileSync(join(checkout, compiledOf(file)), code)
  }
  await commandStep("bundling", process.execPath, [join(checkout, "scripts/programs.mjs")], { cwd: checkout })
}

async function search(checkout, { program, args, env }, { seconds, signal, onLine }) {
  const startedAt = performance.now()
  const tookSeconds = () => Math.round((performance.now() - startedAt) / 1000)
  const child = spawn(process.execPath, ["--enable-source-maps", ...programOf[program], ...args], {
    cwd: checkout,
    env: { ...process.env, ...env },
    // A terminal's Ctrl-C goes to this process alone, which stops the campaign.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  })
  const exited = new Promise((resolve) => child.once("close", (code) => resolve(code)))
  // With its processes, which else go on for a moment with sources that are restored.
  const stop = () => {
    // It may have ended by itself since it was found to fail.
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, "SIGTERM")
  }
  const [lines, errors] = [[], []]
  let found
  const timer = setTimeout(stop, seconds * 1000)
  signal?.addEventListener("abort", stop)
  createInterface({ input: child.stdout }).on("line", (line) => {
    onLine(line)
    lines.push(line)
    const finding = findingOf(lines)
    if (!finding || found) return
    found = { ...finding, seconds: tookSeconds() }
    setTimeout(stop, restMs)
  })
  createInterface({ input: child.stderr }).on("line", (line) => errors.push(line))
  const code = await exited
  clearTimeout(timer)
  signal?.removeEventListener("abort", stop)
  signal?.throwIfAborted()
  if (found) return { ...found, seed: seedOf(lines, args) }
  // A campaign ends with an error where it waits for what never comes.
  const [, never] = /timed out after \d+ ms waiting until (.*? over)\b/.exec(errors.join("\n")) ?? []
  if (never) return { judge: "what never ends", finding: never, seconds: tookSeconds(), seed: seedOf(lines, args) }
  if (code !== 0 && tookSeconds() < seconds)
    throw new SetupFailed(`${program} ${args.join(" ")} failed:\n${[...lines, ...errors].slice(-20).join("\n")}`)
  return { seconds: tookSeconds(), seed: seedOf(lines, args) }
}

/** What a campaign's lines say first of a promise that is broken. Pure. */
function findingOf(lines) {
  for (const [index, line] of lines.entries()) {
    const next = lines[index + 1]
    if (next === undefined) return undefined
    // A round of conversations with servers or with a worker, of outages, of histories of deployments, of a Postgres that loses commits, and a seed of a simulation.
    if (/ [1-9]\d* promises broken$/.test(line)) return split(next)
    if (/^histories that no order explains: [1-9]/.test(line)) return { judge: "history", finding: next.trim() }
    if (/^holes: [1-9]/.test(line)) return { judge: "hole", finding: next.trim() }
    if (/^seed \d+:$/.test(line)) return { judge: "simulation", finding: next.trim() }
    const [, interleaving] = /: ("[^"]+" \((?:one|two)\) before statement \d+ of "[^"]+")/.exec(line) ?? []
    if (interleaving) return { judge: "pairs", finding: interleaving }
  }
  return undefined
}

function split(line) {
  const [, judge = "promise", finding = line] = /^ *([a-z]+): (.*)$/.exec(line) ?? []
  return { judge, finding: finding.trim() }
}

function seedOf(lines, args) {
  const simulated = lines.map((line) => /^seed (\d+):$/.exec(line)?.[1]).find((seed) => seed !== undefined)
  return Number(simulated ?? args[args.indexOf("--seed") + 1])
}
