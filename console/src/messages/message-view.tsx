/** One message of a conversation. */

import { memo } from "react"
import { Bot, Brain, Paperclip, Settings2, User, Wrench } from "../frame/icons.js"
import { JsonText } from "./json-text.js"
import { Markdown } from "./markdown.js"
import type { Block, ShownMessage, Speaker } from "./messages.js"
import { ToolCallView } from "./tool-call.js"

const icons = { human: User, ai: Bot, system: Settings2, tool: Wrench }
const names: Readonly<Record<Speaker, string>> = { human: "You", ai: "Agent", system: "System", tool: "Tool" }

interface Props {
  readonly message: ShownMessage
  /** Whether more of it may come. */
  readonly isGrowing?: boolean
  /** Whether no result of its tool calls can come any more. */
  readonly isOver?: boolean
}

export const MessageView = memo(({ message, isGrowing = false, isOver = false }: Props) => {
  const { speaker, name, blocks } = message
  const Icon = icons[speaker]
  return (
    <article className={`message message-${speaker}`} data-message={message.id}>
      <header className="message-head">
        <Icon size={14} aria-hidden />
        <span>{name ?? names[speaker]}</span>
      </header>
      <div className="message-body">
        {blocks.map((block, position) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only added at the end
          <BlockView key={position} block={block} isMarkdown={speaker !== "human"} isOver={isOver} />
        ))}
        {isGrowing && <span className="message-cursor" aria-hidden />}
      </div>
    </article>
  )
}, areSame)

interface BlockProps {
  readonly block: Block
  readonly isMarkdown: boolean
  readonly isOver: boolean
}

function BlockView({ block, isMarkdown, isOver }: BlockProps) {
  switch (block.kind) {
    case "text":
      return isMarkdown ? <Markdown text={block.text} /> : <p className="message-plain">{block.text}</p>
    case "reasoning":
      return (
        <details className="message-reasoning">
          <summary>
            <Brain size={13} aria-hidden /> Reasoning
          </summary>
          <Markdown text={block.text} />
        </details>
      )
    case "image":
      return <img className="message-image" src={block.url} alt="In the message" />
    case "file":
      return <FileView name={block.name} mimeType={block.mimeType} url={block.url} />
    case "call":
      return <ToolCallView call={block} isOver={isOver} />
    case "other":
      return <JsonText value={block.value} label="content" />
  }
}

/** A file is saved, never opened: what a graph says must not become a page. */
const FileView = ({ name, mimeType, url }: { name: string; mimeType: string; url: string }) => (
  <a className="message-file" href={url} download={name}>
    <Paperclip size={14} aria-hidden /> <span>{name}</span> <span className="soft">{mimeType}</span>
  </a>
)

/** While an answer streams, every other message of the conversation stays as it is drawn. */
function areSame(before: Props, after: Props): boolean {
  const [a, b] = [before.message, after.message]
  if (before.isGrowing !== after.isGrowing || before.isOver !== after.isOver) return false
  if (a.key !== b.key || a.blocks.length !== b.blocks.length) return false
  return a.speaker === b.speaker && a.blocks.every((block, position) => isSameBlock(block, b.blocks[position]))
}

function isSameBlock(a: Block, b: Block | undefined): boolean {
  if (!b || a.kind !== b.kind) return false
  if ("text" in a && "text" in b) return a.text === b.text
  if (a.kind === "call" && b.kind === "call")
    return a.id === b.id && a.name === b.name && a.args === b.args && a.result?.text === b.result?.text
  return a === b || ("url" in a && "url" in b && a.url === b.url)
}
