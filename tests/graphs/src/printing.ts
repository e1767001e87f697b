/** Prints in each way that code does, while another run of it does the same in the same process. */
import { Annotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({ said: Annotation<string> })

let waiting: (() => void) | undefined

/** Resolves when two runs are here. */
function meet(): Promise<void> {
  const first = waiting
  waiting = undefined
  if (first) {
    first()
    return Promise.resolve()
  }
  return new Promise((resolve) => {
    waiting = resolve
  })
}

async function print({ said }: typeof State.State) {
  console.log(`${said} begins`)
  process.stdout.write(`${said} writes `)
  await meet()
  process.stdout.write("in pieces\n")
  console.log(JSON.stringify({ message: `${said} logs`, level: "warn" }))
  try {
    throw new TypeError(`${said} fails`)
  } catch (error) {
    console.log(error)
  }
  process.stdout.write(`${said} ends`)
  return {}
}

console.log("the graph is loaded")

export const graph = new StateGraph(State).addNode("print", print).addEdge("__start__", "print").compile()
