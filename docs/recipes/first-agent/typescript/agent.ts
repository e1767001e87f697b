/** An agent with a model behind an OpenAI-compatible API, and one tool. The settings are in `.env`. */
import { ChatOpenAI } from "@langchain/openai"
import { createAgent, tool } from "langchain"
import { z } from "zod"

const timeIn = tool(({ zone }) => new Date().toLocaleString("en-GB", { timeZone: zone, timeZoneName: "short" }), {
  name: "time_in",
  description: "The present date and time in a time zone",
  schema: z.object({ zone: z.string().describe("such as Europe/Lisbon") }),
})

export const graph = createAgent({
  // Reads OPENAI_API_KEY and OPENAI_BASE_URL itself.
  model: new ChatOpenAI({ model: process.env.MODEL ?? "gpt-5-mini" }),
  tools: [timeIn],
  systemPrompt: "You are a helpful assistant. Answer in one or two sentences.",
})
