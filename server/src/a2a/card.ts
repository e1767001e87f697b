/** An assistant's agent card, which other agents read before they send a message (agent-server-api §11). Pure. */
import { parseJson } from "@superstep/toolkit/http/json"
import { z } from "zod"

const modes = z.array(z.string().min(1)).min(1)
const overrides = z.object({
  a2a: z.object({ input_modes: modes.optional().catch(undefined), output_modes: modes.optional().catch(undefined) }),
})

export interface CardSubject {
  readonly assistant_id: string
  readonly name: string
  readonly description: string | null
  /** JSON text. */
  readonly metadata: string
  readonly version: number
}

/** @param url  the absolute URL of the assistant's A2A endpoint */
export function agentCard(assistant: CardSubject, url: string) {
  const { a2a } = overrides.safeParse(parseJson(assistant.metadata)).data ?? {}
  const description = assistant.description ?? `The assistant ${assistant.name}`
  const [inputModes, outputModes] = [a2a?.input_modes ?? defaultModes, a2a?.output_modes ?? defaultModes]
  return {
    name: assistant.name,
    description,
    version: String(assistant.version),
    // Read by clients of A2A 0.3.
    protocolVersion: "0.3.0",
    url,
    preferredTransport: "JSONRPC",
    // Read by clients of A2A 1.0.
    supportedInterfaces: [
      { url, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      { url, protocolBinding: "JSONRPC", protocolVersion: "0.3" },
    ],
    capabilities: { streaming: true, pushNotifications: false, extensions: [] },
    defaultInputModes: inputModes,
    defaultOutputModes: outputModes,
    skills: [
      {
        id: assistant.assistant_id,
        name: assistant.name,
        description,
        tags: ["assistant", "langgraph"],
        inputModes,
        outputModes,
      },
    ],
  }
}

const defaultModes = ["application/json", "text/plain"]
