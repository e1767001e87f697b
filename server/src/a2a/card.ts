/** An assistant's card: what other agents read before they ask it (agent-server-api §11). Pure. */
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

/** @param url  where the assistant answers, absolute */
export function agentCard(assistant: CardSubject, url: string) {
  const { a2a } = overrides.safeParse(JSON.parse(assistant.metadata)).data ?? {}
  const description = assistant.description ?? `The assistant ${assistant.name}`
  const [inputModes, outputModes] = [a2a?.input_modes ?? usualModes, a2a?.output_modes ?? usualModes]
  return {
    name: assistant.name,
    description,
    version: String(assistant.version),
    // What a client of 0.3 reads.
    protocolVersion: "0.3.0",
    url,
    preferredTransport: "JSONRPC",
    // What a client of 1.0 reads.
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

const usualModes = ["application/json", "text/plain"]
