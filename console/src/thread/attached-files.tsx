/** The files that go with the next message. */
import { useRef, useState } from "react"
import { Button } from "../frame/button.js"
import { Paperclip, X } from "../frame/icons.js"
import { type ContentBlock, readAttachment } from "../messages/attachments.js"

export interface AttachedFile {
  readonly key: number
  readonly name: string
  readonly block: ContentBlock
}

/** @param onError  tells why a file was not attached; undefined when one is tried again */
export function useAttachments(onError: (error: unknown) => void) {
  const [files, setFiles] = useState<readonly AttachedFile[]>([])
  const count = useRef(0)
  const add = (given: Iterable<File>) => {
    onError(undefined)
    for (const file of given) {
      const key = ++count.current
      readAttachment(file).then(
        (block) => setFiles((present) => [...present, { key, name: file.name, block }]),
        onError,
      )
    }
  }
  return {
    files,
    add,
    remove: (key: number) => setFiles((present) => present.filter((file) => file.key !== key)),
    /** @param others  what stays in their place */
    clear: (others: readonly AttachedFile[] = []) => setFiles(others),
  }
}

interface AttachedFilesProps {
  readonly files: readonly AttachedFile[]
  readonly onRemove: (key: number) => void
}

export function AttachedFiles({ files, onRemove }: AttachedFilesProps) {
  if (files.length === 0) return null
  return (
    <ul className="attached" aria-label="Attached files">
      {files.map(({ key, name, block }) => (
        <li key={key} className="attached-file">
          {isImage(block) ? <img src={block.image_url.url} alt="" /> : <Paperclip size={14} aria-hidden />}
          <span>{name}</span>
          <Button look="quiet" label={`Remove ${name}`} onPress={() => onRemove(key)}>
            <X size={13} aria-hidden />
          </Button>
        </li>
      ))}
    </ul>
  )
}

const isImage = (block: ContentBlock): block is { image_url: { url: string } } => block.type === "image_url"

interface AttachButtonProps {
  readonly disabledBecause: string | undefined
  readonly onFiles: (files: Iterable<File>) => void
}

export function AttachButton({ disabledBecause, onFiles }: AttachButtonProps) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <Button
        look="quiet"
        label="Attach files"
        tip="Attach images or other files. They can also be pasted, or dropped here."
        disabledBecause={disabledBecause}
        onPress={() => input.current?.click()}
      >
        <Paperclip size={16} aria-hidden />
      </Button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files of the message"
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])])
          // The same file can be chosen again after it was removed.
          target.value = ""
        }}
      />
    </>
  )
}
