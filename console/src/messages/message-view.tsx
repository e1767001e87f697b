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
})

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
        <details className="message-reasoning note">
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
