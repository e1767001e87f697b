/** Complete commands to paste: the real address, the real key, a real question. */
import { quoted } from "./shell-word.js"

export interface Target {
  /** Base address of the agent server. */
  readonly url: string
  readonly graph: string
  /** Absent when no key is needed. */
  readonly apiKey?: string
}

/**
 * For examples, the first key in `SUPERSTEP_API_KEYS`, but only on a terminal. Elsewhere the output may be kept as a log, which
 * must not contain a key. Pure.
 * @param keys  separated by commas, as in the setting
 */
export function exampleKey(keys: string | undefined, isTerminal: boolean): string | undefined {
  if (keys === undefined) return undefined
  return isTerminal ? keys.split(",")[0]?.trim() : "<one of SUPERSTEP_API_KEYS>"
}

const question = { messages: [{ role: "user", content: "Hello! What can you do?" }] }

/** The body of `POST /runs/stream`. Pure. */
export const bodyOf = (graph: string): object => ({
  assistant_id: graph,
  input: question,
  stream_mode: ["messages-tuple"],
})

/** Streams one answer; `-N` shows it as it arrives. */
export function curlCommand({ url, graph, apiKey }: Target): string {
  return [
    `curl -N ${url}/runs/stream`,
    ...(apiKey ? [`  -H ${quoted(`x-api-key: ${apiKey}`)}`] : []),
    "  -H 'content-type: application/json'",
    `  -d ${quoted(JSON.stringify(bodyOf(graph)))}`,
  ].join(" \\\n")
}

/** `npm install @langchain/langgraph-sdk@1`: the tag `latest` names an older line, see docs. */
export function javascriptSnippet({ url, graph, apiKey }: Target): string {
  const options = [`apiUrl: "${url}"`, ...(apiKey ? [`apiKey: "${apiKey}"`] : [])].join(", ")
  return [
    'import { Client } from "@langchain/langgraph-sdk"',
    `const client = new Client({ ${options} })`,
    `const input = ${JSON.stringify(question)}`,
    `for await (const { event, data } of client.runs.stream(null, "${graph}", { input, streamMode: "messages-tuple" }))`,
    "  console.log(event, data)",
  ].join("\n")
}

export function pythonSnippet({ url, graph, apiKey }: Target): string {
  const options = [`url="${url}"`, ...(apiKey ? [`api_key="${apiKey}"`] : [])].join(", ")
  return [
    "from langgraph_sdk import get_sync_client",
    `client = get_sync_client(${options})`,
    `question = ${JSON.stringify(question)}`,
    `for chunk in client.runs.stream(None, "${graph}", input=question, stream_mode="messages-tuple"):`,
    "    print(chunk.event, chunk.data)",
  ].join("\n")
}

export const indented = (text: string, by = "    "): string => text.replaceAll(/^/gm, by)
