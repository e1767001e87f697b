-- A checkpoint loses its question when the question is answered, and the run that answered is deleted after some days. Question and
-- answer are part of the conversation, so they stay as long as its thread.
create table thread_answers (
  thread_id uuid not null references threads on delete cascade,
  -- The run that brought the answer. It may be deleted before.
  run_id uuid not null,
  -- The questions that were open, by the ids of their tasks, as `threads.interrupts` has them.
  interrupts json not null,
  -- The answer, or answers by the ids of interrupts: `command.resume` of the run.
  resume json not null,
  answered_at timestamptz not null,
  -- The `identity` of the caller that answered; null for a caller that is not known.
  user_id text,
  -- How the run ended.
  status text not null,
  primary key (thread_id, run_id)
);
