"""Prints the events of messages, for the comparison with the JavaScript worker (`message-stream.test.ts`)."""

import json
import sys
from pathlib import Path

from langchain_core.messages import AIMessageChunk

sys.path.insert(0, str(Path(__file__).parent.parent))

from superstep_worker.events.content_slices import slices_of  # noqa: E402
from superstep_worker.events.message_stream import MessageStream  # noqa: E402


def events_of(chunks):
    stream = MessageStream("run-1")
    texts = [stream.start()]
    for index, fields in enumerate(chunks):
        chunk = AIMessageChunk(**fields)
        for piece in slices_of(chunk):
            texts.extend(stream.content(piece, index * 100))
        if chunk.usage_metadata:
            texts.append(stream.usage(chunk.usage_metadata))
    texts.extend(stream.finish())
    ids = {"id": "run-1", "run_id": "1"}
    return [{name: value for name, value in json.loads(text).items() if name not in ids} for text in texts]


print(json.dumps([events_of(chunks) for chunks in json.loads(sys.argv[1])]))
