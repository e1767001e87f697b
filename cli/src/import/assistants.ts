/** Brings assistants and their versions from one agent server to another, under the same ids. Those that come with a graph are there already. */
import { type AgentApi, unlessMissing } from "./agent-api.js"
import { every, pageSize } from "./every.js"
import { sameJson } from "./same-json.js"
import type { Outcome } from "./threads.js"

export interface Assistant {
  readonly assistant_id: string
  readonly graph_id: string
  readonly name?: unknown
  readonly description?: unknown
  readonly config?: unknown
  readonly context?: unknown
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly version: number
}

export async function* ownAssistants(from: AgentApi): AsyncGenerator<Assistant> {
  const read = (offset: number): Promise<Assistant[]> =>
    from.send("POST", "/assistants/search", { limit: pageSize, offset })
  for await (const assistant of every(read, (it) => it.assistant_id))
    if (assistant.metadata?.created_by !== "system") yield assistant
}

const fieldsOf = ({ graph_id, name, description, config, context, metadata }: Assistant) => ({
  graph_id,
  config: config ?? {},
  context: context ?? {},
  metadata: metadata ?? {},
  ...(typeof name === "string" && { name }),
  ...(typeof description === "string" && { description }),
})

/** Creates the versions in their order; an import that was interrupted goes on after the last one. @throws AgentRefused | AgentAway */
export async function importAssistant(
  { from, to }: { readonly from: AgentApi; readonly to: AgentApi },
  assistant: Assistant,
): Promise<Outcome> {
  const path = `/assistants/${assistant.assistant_id}`
  const versions = await versionsOf(from, path)
  const there = (await unlessMissing(to.send("GET", path))) === undefined ? [] : await versionsOf(to, path)
  const isOther = there.some(
    (version, index) => !sameJson(fieldsOf(version), versions[index] && fieldsOf(versions[index])),
  )
  if (isOther) return { kind: "differs", why: "the new server has it with other versions: it is left as it is" }
  const present = there.length > 0 && (await to.send("GET", path)).version
  const wanted = versions.findIndex(({ version }) => version === assistant.version) + 1
  if (there.length === versions.length && present === wanted) return { kind: "there" }
  for (const version of versions.slice(there.length)) {
    if (version === versions[0]) {
      await to.send("POST", "/assistants", {
        assistant_id: assistant.assistant_id,
        ...fieldsOf(version),
        if_exists: "do_nothing",
      })
    } else await to.sendOnce("PATCH", path, fieldsOf(version))
  }
  await to.send("POST", `${path}/latest`, { version: wanted })
  return { kind: "imported", checkpoints: 0, notes: [] }
}

/** From the first one on. Numbers may be missing there: here they are counted anew. */
async function versionsOf(api: AgentApi, path: string): Promise<Assistant[]> {
  const read = (offset: number): Promise<Assistant[]> =>
    api.send("POST", `${path}/versions`, { limit: pageSize, offset })
  const all: Assistant[] = []
  for await (const version of every(read, (it) => String(it.version))) all.push(version)
  return all.sort((one, other) => one.version - other.version)
}
