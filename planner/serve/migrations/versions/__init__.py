"""One file a change of the tables, in order; a file that was released is never changed."""
