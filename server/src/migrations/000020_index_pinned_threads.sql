-- The control plane counts the threads that are pinned to a revision, and ends its units when there are none.
create index threads_pinned on threads (revision_id) where revision_id is not null;
