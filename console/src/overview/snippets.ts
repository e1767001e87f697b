/** How a deployment is called, as texts to copy. Pure. */
import { quoted } from "../requests/curl.js"

export interface Called {
  /** The address of the deployment, without a slash at its end. */
  readonly url: string
  /** The graph that is called. */
  readonly graph: string
}

const hello = "Hello!"

const curl = ({ url, graph }: Called) => {
  const input = { messages: [{ role: "user", content: hello }] }
  const body = JSON.stringify({ assistant_id: graph, input, stream_mode: ["updates", "messages-tuple"] })
  return `curl -N ${quoted(`${url}/runs/stream`)} -H "x-api-key: $KEY" -H 'content-type: application/json' -d ${quoted(body)}`
}

// A text in JSON is one in JavaScript and in Python, too.
const text = JSON.stringify

const javaScript = ({ url, graph }: Called) => `// npm install @langchain/langgraph-sdk
import { Client } from "@langchain/langgraph-sdk"

const client = new Client({ apiUrl: ${text(url)}, apiKey: process.env.KEY })
const { thread_id } = await client.threads.create()
const input = { messages: [{ role: "user", content: "${hello}" }] }
const stream = client.runs.stream(thread_id, ${text(graph)}, { input, streamMode: ["updates", "messages-tuple"] })
for await (const chunk of stream) console.log(chunk.event, chunk.data)
`

const python = ({ url, graph }: Called) => `# pip install langgraph-sdk
import os
from langgraph_sdk import get_sync_client

client = get_sync_client(url=${text(url)}, api_key=os.environ["KEY"])
thread = client.threads.create()
input = {"messages": [{"role": "user", "content": "${hello}"}]}
for chunk in client.runs.stream(thread["thread_id"], ${text(graph)}, input=input, stream_mode=["updates", "messages-tuple"]):
    print(chunk.event, chunk.data)
`

const react = ({ url, graph }: Called) => `// npm install @langchain/langgraph-sdk
// A page shows everything in it, keys too: in production your own server adds x-api-key, and apiUrl is its address.
import { useStream } from "@langchain/langgraph-sdk/react"

export function Chat({ apiKey }) {
  const stream = useStream({ apiUrl: ${text(url)}, apiKey, assistantId: ${text(graph)} })
  const say = () => stream.submit({ messages: [{ type: "human", content: "${hello}" }] })
  return (
    <>
      {stream.messages.map((message) => (
        <p key={message.id}>{String(message.content)}</p>
      ))}
      <button onClick={say}>Say hello</button>
    </>
  )
}
`

/** By the name of the language or tool. */
export const snippets: readonly (readonly [name: string, text: (called: Called) => string])[] = [
  ["curl", curl],
  ["JavaScript", javaScript],
  ["Python", python],
  ["React", react],
]
