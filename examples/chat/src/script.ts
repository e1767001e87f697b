/** What the scripted model says. It is a plain function of the conversation, so all that it remembers is in there. */
import type { BaseMessage } from "@langchain/core/messages"

/** The first rule that has something to say wins. */
const rules: readonly ((conversation: Conversation) => string | undefined)[] = [
  introduction,
  whoAmI,
  whatDidISay,
  greeting,
  thanks,
  question,
  smallTalk,
]

interface Conversation {
  /** What the person said last. */
  readonly said: string
  /** Everything they said before, oldest first. */
  readonly before: readonly string[]
  /** How they introduced themselves, if they did. */
  readonly name: string | undefined
}

export function answer(messages: readonly BaseMessage[]): string {
  const spoken = messages.filter((message) => message.getType() === "human").map((message) => message.text.trim())
  const conversation = { said: spoken.at(-1) ?? "", before: spoken.slice(0, -1), name: nameIn(spoken) }
  for (const rule of rules) {
    const reply = rule(conversation)
    if (reply !== undefined) return reply
  }
  return "I am listening."
}

function introduction({ said, before }: Conversation): string | undefined {
  const name = nameIn([said])
  if (name === undefined) return undefined
  const earlier = nameIn(before)
  if (earlier === undefined)
    return `Nice to meet you, ${name}! I will remember that, as long as we stay on this thread.`
  return earlier === name ? `I know, ${name}.` : `${name} it is, then. A moment ago you were ${earlier}.`
}

function whoAmI({ said, name }: Conversation): string | undefined {
  if (!/\b(who am i|my name)\b/i.test(said)) return undefined
  return name === undefined ? "You have not told me yet. What shall I call you?" : `You are ${name}. You told me so.`
}

function whatDidISay({ said, before }: Conversation): string | undefined {
  if (!/\b(remember|did i (say|ask)|so far)\b/i.test(said)) return undefined
  if (before.length === 0) return "This is the first thing you have said on this thread."
  const list = before.map((text, index) => `${index + 1}. ${text}`).join("\n")
  return `You have said this so far:\n\n${list}\n\nIt comes from the thread's state, not from a model's memory.`
}

function greeting({ said, before, name }: Conversation): string | undefined {
  if (!/^(hi|hello|hey|good (morning|afternoon|evening))\b/i.test(said)) return undefined
  if (before.length > 0) return name === undefined ? "Hello again!" : `Hello again, ${name}!`
  return "Hello! I am a scripted agent: no key, no network, but a real LangGraph underneath. What is your name?"
}

function thanks({ said, name }: Conversation): string | undefined {
  if (!/\b(thanks|thank you)\b/i.test(said)) return undefined
  return name === undefined ? "You are welcome." : `You are welcome, ${name}.`
}

function question({ said, name }: Conversation): string | undefined {
  if (!said.endsWith("?")) return undefined
  const address = name === undefined ? "" : `, ${name}`
  return `That is a good question${address}, and a script cannot answer it. Put a real model into src/graph.ts and ask again.`
}

function smallTalk({ said, before }: Conversation): string | undefined {
  if (said === "") return undefined
  const lines = ["Tell me more.", "I see. And then?", "What makes you say that?"]
  return `"${said}": noted. ${lines[before.length % lines.length]}`
}

/** The last name that somebody introduced themselves with. */
function nameIn(spoken: readonly string[]): string | undefined {
  const found = spoken.flatMap(
    (text) => /\b(?:my name is|i am called|call me) (\p{L}[\p{L}'-]*)/iu.exec(text)?.[1] ?? [],
  )
  return found.at(-1)
}
