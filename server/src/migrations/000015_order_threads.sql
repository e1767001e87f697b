-- Searches of threads read one page, not the table (E6). Each order that a search offers has its index; stateless runs' threads are in
-- none of them. A run's updates of its thread touch these indexes, about a tenth of a millisecond a run: a chat client lists its
-- threads by `updated_at` at each page load, which sorted every thread there was.
create index threads_by_created_at on threads (created_at, thread_id) where not is_ephemeral;
create index threads_by_updated_at on threads (updated_at, thread_id) where not is_ephemeral;
create index threads_by_state_updated_at on threads (state_updated_at, thread_id) where not is_ephemeral;
create index threads_by_status on threads (status, thread_id) where not is_ephemeral;
