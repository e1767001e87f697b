interface Message {
  readonly text: PromiseLike<string>
}

/**
 * Resolves with the texts of all messages of a run. Call it before `run.start`: the SDK ends a subscription that it adds to its
 * open stream when the run ends before the new stream is open, and then the messages of a short run are missing.
 * @see @langchain/langgraph-sdk, `#scheduleTerminalPause`: a subscription without `registeredAfterSeq` is paused at any end
 */
export async function messageTexts(messages: AsyncIterable<Message>): Promise<string[]> {
  const texts: string[] = []
  for await (const message of messages) texts.push(await message.text)
  return texts
}
