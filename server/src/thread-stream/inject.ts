/** The command `input.inject`: a message that nobody asked for, also while a run executes. */
import type { RunRoutes } from "../runs/creating-routes.js"
import type { Requirement } from "../runs/preparation.js"
import { CommandFailed, type Executed, parseParams } from "./command.js"
import { type CommandRequest, create, openInterrupts, threadWithAssistant } from "./run-commands.js"
import { inputInject } from "./schema.js"

const types = { user: "human", system: "system" } as const

/**
 * Adds a message to the conversation with a run of the assistant that ran last. The run waits for the runs before it: LangGraph takes no
 * input while a run executes.
 * @throws CommandFailed  nothing has run on the thread, a question is open, or the namespace is that of a subgraph
 */
export async function inject(runs: RunRoutes, request: CommandRequest): Promise<Executed> {
  const { namespace, message } = parseParams(inputInject, request.params)
  if (namespace && namespace.length > 0)
    throw new CommandFailed("no_such_namespace", "input.inject works for the root graph only: send an empty namespace.")
  const { assistant_id } = await threadWithAssistant(runs, request)
  const requires: Requirement = (thread) => {
    if (openInterrupts(thread).length > 0)
      throw new CommandFailed("invalid_argument", "The thread waits for an answer: use input.respond.")
  }
  const { role, ...fields } = message
  const input = { messages: [{ type: types[role], ...fields }] }
  const body = { assistant_id, input, multitask_strategy: "enqueue" } as const
  return { ...(await create(runs, request, body, { forThread: () => ({ requires }) })), result: {} }
}
