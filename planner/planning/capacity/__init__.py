"""The largest load that a given fleet carries: found by asking for plans at other loads."""
