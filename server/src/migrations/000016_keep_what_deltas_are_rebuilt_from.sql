-- A delta channel of LangGraph (JS from 1.5, Python from 1.2; `messages` and `files` of deep agents) has a stored value at few
-- checkpoints only. At all others its value is the nearest stored one among the ancestors and the writes since. Pruning and the
-- deletion of a run removed those ancestors and writes, and with them messages and files (docs/decisions/0018).

-- True: the checkpoint is only kept to rebuild later ones. It is never a thread's newest checkpoint, appears in no history, and no
-- run starts at it. LangGraph's own libraries name their columns and do not read this one.
alter table checkpoints add column is_replay_only boolean not null default false;
