-- When each attempt of a run began, and how the earlier ones ended: people ask why a run took so long, and the log of a server
-- does not answer after a redeploy. The present attempt's time is written with its claim, and an ended attempt is added where the
-- run returns to the queue, so no statement is added to the life of a run.
alter table runs add column claimed_at timestamptz;
-- A list of `{attempt, claimed_at, ended_at, ending}`; null: every attempt but the present one is unknown, or there was none.
alter table runs add column past_attempts jsonb;
