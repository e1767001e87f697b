-- The queue's statements read what is in flight, not what has ended or waits for its time. A cron that runs each minute on
-- one thread adds 43,000 ended runs a month, and each creation, claim and end on that thread read all of them.

-- What a thread has in flight, oldest first.
create index runs_in_flight on runs (thread_id, seq) where status in ('pending', 'running');

-- What may be claimed, then what waits for its time: a claim stops before the first delayed run, and the next due time is
-- one look. Replaces an index on `seq` alone, in which each claim passed all delayed runs.
drop index runs_waiting;
create index runs_waiting on runs (not_before, seq) where status = 'pending';
drop index runs_waiting_alone;
create index runs_waiting_alone on runs (not_before, seq) where status = 'pending' and runs_alone;
