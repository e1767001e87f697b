/** Plans the build of a fetched tree: what is to run, with which Node and Python, and what the result is called. */
import { dirname, relative } from "node:path"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { artifactId } from "./artifact.js"
import { chooseNode, isAtLeast, type NodeChoice, requestedNode } from "./choose-node.js"
import { BuildFailed } from "./faults/build-failed.js"
import { NodeNotFetched } from "./fetch-node.js"
import type { InstalledNodes } from "./installed-nodes.js"
import { planBuild } from "./plan.js"
import { platformOf } from "./platform.js"
import type { BuildPlan } from "./project/build-step.js"
import { type ProjectFacts, readProjectFacts } from "./project/project-facts.js"
import { choosePython } from "./python/choose-python.js"
import type { PythonProject } from "./python/plan-python.js"
import { readPythonFacts } from "./python/python-facts.js"
import type { InstalledPythons, PythonProgram } from "./python/pythons.js"

/** A fetched tree, and how it is built. */
export interface PlannedSource {
  readonly deploymentId: string
  /** Hash of the tree in the build's folder. */
  readonly treeHash: string
  /** Path of `langgraph.json`, relative to the tree. */
  readonly configPath: string
  readonly installCommand: string | null
  readonly buildCommand: string | null
}

export interface Plan {
  readonly plan: BuildPlan
  readonly choice: NodeChoice
  readonly platform: string
  readonly artifactId: string
  /** The variables that `langgraph.json` sets. */
  readonly env: Readonly<Record<string, string>>
}

/** Where the build will run. */
export interface BuildPlace {
  readonly nodes: InstalledNodes
  readonly pythons: InstalledPythons
  /** The package managers that a build with the Node in this folder finds. */
  readonly toolsBeside: (nodeFolder: string) => Promise<ReadonlySet<string>>
  /** Who builds; our own user when undefined. */
  readonly user: OsUser | undefined
  /** Where the project is when it runs; where it is published when undefined. */
  readonly runsAt?: string | undefined
}

/** @throws BuildFailed  for every fault that is found before a command runs */
export async function planSource(tree: string, source: PlannedSource, place: BuildPlace): Promise<Plan> {
  const { deploymentId, treeHash, configPath, installCommand, buildCommand } = source
  const facts = await readProjectFacts(tree, configPath)
  const choice = await nodeFor(facts, place)
  const python = facts.config.python && choosePython(facts.config.python.version, await place.pythons.found(place.user))
  const tools = await place.toolsBeside(dirname(choice.node.path))
  const project = await pythonProject(tree, { facts, configPath, python })
  const plan = planBuild(facts, { installCommand, buildCommand }, tools, project)
  const platform = platformOf(choice.node, python, place.runsAt)
  return {
    plan,
    choice,
    platform,
    env: facts.config.env,
    artifactId: artifactId({ deploymentId, treeHash, configPath, plan, platform }),
  }
}

/**
 * The newest Node that the project allows, of this machine or fetched. A build that can do without the fetched one does not wait for it
 * while it is the first of an installation, and does not fail with the fetch.
 */
async function nodeFor(facts: ProjectFacts, { nodes, user }: BuildPlace): Promise<NodeChoice> {
  const requested = requestedNode(facts)
  const choose = async () => chooseNode(requested, nodes.own, await nodes.others(user))
  const { fetchable } = nodes
  const isWanted = fetchable !== undefined && (requested?.range.includes(fetchable.version) ?? true)
  if (!isWanted) return choose()
  const present = await choose().catch((error: unknown) => {
    if (error instanceof BuildFailed) return error
    throw error
  })
  const isMissing = present instanceof BuildFailed
  if (!isMissing && isAtLeast(present.node, fetchable)) return present
  if (!isMissing && (await fetchable.isTooSoon()))
    return { ...present, note: `Node ${present.node.version} is used. The next build will use ${fetchable.version}` }
  try {
    await fetchable.fetch()
  } catch (error) {
    if (!(error instanceof NodeNotFetched)) throw error
    if (isMissing) throw new BuildFailed(present.code, `${present.message}. ${error.message}`)
    return { ...present, note: `${present.note}. ${error.message}` }
  }
  return choose()
}

async function pythonProject(
  tree: string,
  input: { readonly facts: ProjectFacts; readonly configPath: string; readonly python: PythonProgram | undefined },
): Promise<PythonProject | undefined> {
  const { facts, configPath, python } = input
  const { config } = facts
  if (!config.python || !python) return undefined
  const found = await readPythonFacts(tree, configPath, config.python)
  return { config: config.python, facts: found, program: python.path, folder: relative("", dirname(configPath)) }
}
