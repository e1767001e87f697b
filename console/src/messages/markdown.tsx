/** A text in Markdown, as models write it. */
import { memo, useMemo } from "react"
import { blocksOf, htmlOf, type MarkdownBlock } from "./markdown-html.js"

export const Markdown = memo(({ text }: { text: string }) => {
  const blocks = useMemo(() => blocksOf(text), [text])
  return (
    <div className="markdown">
      {blocks.map((block, position) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a text only grows at its end
        <Block key={position} block={block} />
      ))}
    </div>
  )
})

const Block = memo(
  ({ block }: { block: MarkdownBlock }) => {
    const html = useMemo(() => ({ __html: htmlOf(block) }), [block])
    // biome-ignore lint/security/noDangerouslySetInnerHtml: DOMPurify has sanitized it (markdown-html.ts)
    return <div dangerouslySetInnerHTML={html} />
  },
  (before, after) => before.block.raw === after.block.raw,
)
